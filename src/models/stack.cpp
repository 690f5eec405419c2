#include "models/stack.h"

#include <utility>

#include "nn/collect.h"
#include "ops/add.h"
#include "ops/checkpoint.h"
#include "ops/dropout.h"
#include "ops/parameter.h"
#include "ops/replacing_probe.h"
#include "ops/weighted_sum.h"
#include "regard/error.h"

namespace regard::models {

nn::Embedding& TokenTables::table(const std::string& name, std::int64_t count, std::int64_t size,
                                  Initialisation initial) {
  if (nn::Embedding* known = find(name)) return *known;
  tables_.emplace_back(name, std::make_unique<nn::Embedding>(name, count, size, initial));
  return *tables_.back().second;
}

nn::Embedding* TokenTables::find(const std::string& name) const {
  for (const auto& [known, table] : tables_)
    if (known == name) return table.get();
  return nullptr;
}

void TokenTables::collect(std::vector<Parameter*>& parameters) const {
  for (const auto& [name, table] : tables_) table->collect(parameters);
}

namespace {

class TokenEmbedding : public InputEmbedding {
 public:
  TokenEmbedding(const InputEmbeddingConfig& config, std::int64_t hidden, TokenTables& tables)
      : config_(config), dropout_{config.dropout, place_of(config.tokens + ".dropout")} {
    const std::int64_t size = config.size > 0 ? config.size : hidden;
    tokens_ = &tables.table(config.tokens, config.vocabulary, size, config.initial);
    const auto table = [&](const std::string& name, std::int64_t count) {
      return name.empty() ? nullptr : std::make_unique<nn::Embedding>(name, count, size, config.initial);
    };
    positions_ = table(config.positions, config.position_rows);
    types_ = table(config.types, config.type_count);
    // Position and type tables are small and read row by row, so they stay f32 in quantised models.
    for (nn::Embedding* small : {positions_.get(), types_.get()})
      if (small != nullptr) small->weight().use = Parameter::Use::other;
    if (config.sinusoids) sinusoids_ = std::make_unique<nn::SinusoidalPositions>(size, *config.sinusoids);
    if (!config.norm.empty()) norm_ = std::make_unique<nn::Norm>(config.norm, size, config.norm_config);
    if (!config.projection.empty())
      projection_ = std::make_unique<nn::Linear>(
          size, std::vector{nn::LinearPart{config.projection, hidden, true, config.initial}});
  }

  Var forward(Tape& tape, const InputBatch& batch) const override {
    Var x = tokens_->forward(tape, batch.ids, config_.factor, static_cast<std::int32_t>(config_.padding));
    if (positions_)
      x = ops::add(tape, x,
                   positions_->forward(tape, rows_of(tape, batch.shape.positions), 1.0f,
                                       static_cast<std::int32_t>(config_.position_padding)));
    if (sinusoids_) x = ops::add(tape, x, sinusoids_->forward(tape, rows_of(tape, batch.shape.positions)));
    if (types_) x = ops::add(tape, x, types_->forward(tape, types_of(tape, batch)));
    if (norm_) x = norm_->forward(tape, x);
    if (projection_) x = projection_->forward(tape, ops::dropout(tape, x, batch.shape, dropout_));
    return x;
  }

  void collect(std::vector<Parameter*>& parameters) const override {
    nn::collect_parts(parameters, positions_, types_, norm_, projection_);
  }

  void prepare_for_inference(const nn::Preparation& how) const override {
    if (projection_) projection_->prepare_for_inference(how);
  }

 private:
  // Return the row of the position table for each position. Some model families reserve the first rows.
  std::span<const std::int32_t> rows_of(Tape& tape, std::span<const std::int32_t> positions) const {
    if (config_.first_position == 0) return positions;
    const std::span<std::int32_t> rows = tape.arena().array<std::int32_t>(positions.size());
    for (std::size_t t = 0; t < rows.size(); ++t)
      rows[t] = positions[t] + static_cast<std::int32_t>(config_.first_position);
    return rows;
  }

  static std::span<const std::int32_t> types_of(Tape& tape, const InputBatch& batch) {
    if (!batch.types.empty()) return batch.types;
    const std::span<std::int32_t> none = tape.arena().array<std::int32_t>(batch.ids.size());
    std::fill(none.begin(), none.end(), 0);
    return none;
  }

  InputEmbeddingConfig config_;
  ops::DropoutOptions dropout_;
  nn::Embedding* tokens_;
  std::unique_ptr<nn::Embedding> positions_, types_;
  std::unique_ptr<nn::SinusoidalPositions> sinusoids_;
  std::unique_ptr<nn::Norm> norm_;
  std::unique_ptr<nn::Linear> projection_;
};

}  // namespace

std::unique_ptr<InputEmbedding> make_token_embedding(const InputEmbeddingConfig& config, std::int64_t hidden,
                                                     TokenTables& tables) {
  return std::make_unique<TokenEmbedding>(config, hidden, tables);
}

std::unique_ptr<InputEmbedding> make_input_embedding(const InputEmbeddingConfig& config, std::int64_t hidden,
                                                     TokenTables& tables) {
  if (config.patches) return make_patch_embedding(config, hidden);
  if (config.front) return make_front(config, hidden);
  return make_token_embedding(config, hidden, tables);
}

Stack::Stack(const StackConfig& config, std::int64_t hidden, std::unique_ptr<InputEmbedding> input)
    : point_(config.point),
      // If there is a projection, dropout is applied before it, inside the embedding (transformers'
      // ElectraModel).
      dropout_{config.input.projection.empty() ? config.input.dropout : 0.0f,
               place_of(config.point + ".embedding.dropout")},
      output_dropout_{config.output_dropout, place_of(config.point + ".output.dropout")},
      input_(std::move(input)) {
  if (config.rotary) rotary_ = std::make_unique<nn::RotaryPositions>(*config.rotary);
  if (config.relative_bias) relative_bias_ = std::make_unique<nn::RelativeBias>(*config.relative_bias);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    nn::BlockConfig block = config.block;
    if (config.vary) config.vary(i, block);
    const std::string number = std::to_string(i);
    blocks_.push_back(
        std::make_unique<nn::Block>(config.prefix + number + ".", config.point + "." + number, block));
  }
  if (!config.norm.empty()) norm_ = std::make_unique<nn::Norm>(config.norm, hidden, config.norm_config);
  if (config.layer_weights.empty()) return;
  sums_normed_ = config.last_state_is_normed;
  layer_weights_ = std::make_unique<Parameter>();
  layer_weights_->name = config.layer_weights;
  layer_weights_->variable.value = declared({config.layers + 1});
  layer_weights_->initial = {Initialisation::Kind::constant, 1.0 / static_cast<double>(config.layers + 1)};
}

namespace {

// One layer and copies of its arguments, so that the backward pass can compute the layer again.
struct LayerCall {
  const nn::Block* block = nullptr;
  Var x = nullptr;
  nn::AttentionInput self, cross;
  Ragged shape;
  Memory memory;

  Var operator()(Tape& tape) const {
    nn::AttentionInput own = self, other = cross;
    own.shape = other.shape = &shape;
    if (cross.memory != nullptr) other.memory = &memory;
    return block->forward(tape, x, own, other);
  }
};

// Return the output of a layer. If `keeps_x` is false, the layer may overwrite x.
Var forward_layer(Tape& tape, const nn::Block& block, Var x, const nn::AttentionInput& self,
                  const nn::AttentionInput& cross, bool keeps_x) {
  if (!tape.options().checkpoint && keeps_x) return block.forward(tape, x, self, cross);
  if (!tape.options().checkpoint)
    return nn::in_one_place(tape, x, [&] { return block.forward(tape, x, self, cross); });
  LayerCall call{&block, x, self, cross, *self.shape, {}};
  if (cross.memory != nullptr) call.memory = *cross.memory;
  return ops::checkpointed(tape, call);
}

}  // namespace

Var Stack::forward(Tape& tape, const InputBatch& batch, const Memory* memory, Cache* cache) const {
  ReplacingProbe* replacing = replacing_probe(tape);
  if (replacing != nullptr) replacing->begin(point_, batch.shape);
  Var x = nn::show(tape, point_, "embedding", input_->forward(tape, batch));
  x = ops::dropout(tape, x, batch.shape, dropout_);
  nn::AttentionInput self, cross;
  self.shape = cross.shape = &batch.shape;
  self.cache = cross.cache = cache;
  self.rotary = rotary_.get();
  if (batch.attended != nullptr && batch.shape.sequences() > 0) {
    self.mask = batch.attended;
    self.mask_sequence_stride = batch.shape.offsets[1];
  }
  if (relative_bias_) relative_bias_->prepare(tape, self);
  cross.memory = memory;
  if (memory != nullptr && memory->attended != nullptr && memory->shape.sequences() > 0) {
    cross.mask = memory->attended;
    cross.mask_sequence_stride = memory->shape.offsets[1];
  }
  std::span<Var> states;  // embedding and layer outputs for the learned sum
  if (layer_weights_) {
    states = tape.arena().array<Var>(blocks_.size() + 1);
    states[0] = x;
  }
  for (const auto& block : blocks_) {
    Var known = nullptr;
    if (replacing != nullptr)
      known = replacing->replace(tape, point_ + "." + std::to_string(self.layer) + ".skip", nullptr);
    x = known != nullptr ? known : forward_layer(tape, *block, x, self, cross, layer_weights_ != nullptr);
    ++self.layer, ++cross.layer;
    if (layer_weights_) states[static_cast<std::size_t>(self.layer)] = x;
  }
  if (norm_) x = norm_->forward(tape, x);
  x = nn::show(tape, point_, "output", ops::dropout(tape, x, batch.shape, output_dropout_));
  if (!layer_weights_) return x;
  if (sums_normed_) states.back() = x;
  return ops::weighted_sum(tape, &layer_weights_->variable, states);
}

kernels::Precision Stack::precision() const {
  return blocks_.empty() ? kernels::Precision::f32 : blocks_[0]->precision();
}

void Stack::collect(std::vector<Parameter*>& parameters) const {
  input_->collect(parameters);
  if (relative_bias_) relative_bias_->collect(parameters);
  for (const auto& block : blocks_) block->collect(parameters);
  if (norm_) norm_->collect(parameters);
  if (layer_weights_) parameters.push_back(layer_weights_.get());
}

void Stack::prepare_for_inference(const nn::Preparation& how) const {
  input_->prepare_for_inference(how);
  for (const auto& block : blocks_) block->prepare_for_inference(how);
}

}  // namespace regard::models
