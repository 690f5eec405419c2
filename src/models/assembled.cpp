#include <algorithm>
#include <mutex>
#include <utility>

#include "base/json.h"
#include "models/check_memory.h"
#include "models/pass_locks.h"
#include "models/stack.h"
#include "nn/cache.h"
#include "ops/check.h"
#include "ops/parameter.h"
#include "ops/tape.h"
#include "regard/error.h"

namespace regard::models {
namespace {

class Assembled : public Network {
 public:
  explicit Assembled(Architecture architecture) : architecture_(std::move(architecture)) {
    encoder_ = make_stack(architecture_.encoder, encoder_hidden());
    if (encoder_) input_ = encoder_->input_spec();
    if (architecture_.adapter) {
      adapter_ = std::make_unique<nn::ConvolutionAdapter>(encoder_hidden(), *architecture_.adapter);
      input_.output_windows = architecture_.adapter->windows();
    }
    decoder_ = make_stack(architecture_.decoder, architecture_.hidden);
    if (!architecture_.memory_projection.empty())
      memory_projection_ = std::make_unique<nn::Linear>(
          encoder_hidden(), std::vector{nn::LinearPart{architecture_.memory_projection, architecture_.hidden,
                                                       true, architecture_.head.initial}});
    make_head();
    if (architecture_.pooling) pooling_ = std::make_unique<AttentionPooling>(*architecture_.pooling);
  }

  ModelKind kind() const override {
    if (!decoder_) return ModelKind::encoder;
    return encoder_ ? ModelKind::encoder_decoder : ModelKind::decoder;
  }
  std::int64_t vocabulary() const override {
    return (decoder_ ? architecture_.decoder : architecture_.encoder)->input.vocabulary;
  }
  std::int64_t source_vocabulary() const override {
    return (encoder_ ? architecture_.encoder : architecture_.decoder)->input.vocabulary;
  }
  std::int64_t hidden_size() const override { return architecture_.hidden; }
  std::int64_t max_positions() const override { return architecture_.max_positions; }
  Json config() const override { return architecture_.config; }
  PositionRule position_rule() const override { return architecture_.positions; }
  bool last_state_is_normed(bool encoder) const override {
    return (encoder ? architecture_.encoder : architecture_.decoder)->last_state_is_normed;
  }
  const NameRules& name_rules() const override { return architecture_.names; }

  const InputSpec& input_spec() const override { return input_; }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    tables_.collect(all);
    if (encoder_) encoder_->collect(all);
    if (decoder_) decoder_->collect(all);
    if (memory_projection_) memory_projection_->collect(all);
    if (adapter_) adapter_->collect(all);
    head_->collect(all);
    if (pooling_) pooling_->collect(all);
    return all;
  }

  Var encode(Tape& tape, const InputBatch& source) override {
    if (!encoder_) throw without_part("encoder");
    const PassLocks locks(one_pass_, tape);
    input_.kind == InputKind::tokens ? check_batch(source) : check_values(source);
    Var states = encoder_->forward(tape, source, nullptr, nullptr);
    return adapter_ ? adapter_->forward(tape, states, source.shape) : states;
  }
  Ragged output_shape(Tape& tape, const Ragged& shape) override {
    return adapter_ ? adapter_->output_shape(tape, shape) : shape;
  }

  Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) override {
    if (!decoder_) throw without_part("decoder");
    const PassLocks locks(one_pass_, tape);
    check_batch(target);
    if (cache == nullptr) {
      if (kind() == ModelKind::encoder_decoder) check_memory(memory, target.shape.sequences());
      Memory projected_memory;
      return decoder_->forward(tape, target, projected(tape, memory, projected_memory), nullptr);
    }
    const bool starts = start(*cache, target, memory);
    Memory projected_memory;
    Var hidden =
        decoder_->forward(tape, target, starts ? projected(tape, memory, projected_memory) : nullptr, cache);
    for (std::size_t s = 0; s < cache->slots().size(); ++s)
      cache->advance(cache->slots()[s], target.shape.offsets[s + 1] - target.shape.offsets[s]);
    return hidden;
  }

  Output output() const override { return pooling_ ? Output::pooled : architecture_.head.output; }
  std::int64_t labels() const override { return architecture_.head.out; }
  Var head(Tape& tape, Var hidden, const InputBatch& batch) override {
    if (output() == Output::none) throw without_part("output head");
    const PassLocks locks(one_pass_, tape);
    if (pooling_) return pooling_->forward(tape, hidden, batch.shape);
    InputBatch rows = batch;
    rows.shape = output_shape(tape, batch.shape);
    return head_->forward(tape, hidden, rows);
  }

  bool has_pooler() const override { return architecture_.head_pools || pooler_; }
  Var pooled(Tape& tape, Var hidden, const Ragged& shape) override {
    if (!has_pooler()) return Network::pooled(tape, hidden, shape);
    const PassLocks locks(one_pass_, tape);
    return (pooler_ ? pooler_ : head_)->pooled(tape, hidden, shape);
  }
  std::vector<Parameter*> pooler_parameters() override {
    std::vector<Parameter*> all;
    if (pooler_) pooler_->collect(all);
    return all;
  }

  void fit_to_file(const std::function<bool(const std::string& name)>& holds) override {
    if (encoder_ && use_stored_sinusoids(*architecture_.encoder, holds))
      encoder_ = make_stack(architecture_.encoder, encoder_hidden());
    if (decoder_ && use_stored_sinusoids(*architecture_.decoder, holds))
      decoder_ = make_stack(architecture_.decoder, architecture_.hidden);
    HeadConfig& head = architecture_.head;
    if (head.optional && !holds(head.dense[0].name + ".weight")) {
      head = HeadConfig();
      make_head();
    }
    if (!head.tied_if_absent.empty() && !holds(head.projection + ".weight")) {
      head.projection = std::exchange(head.tied_if_absent, "");
      make_head();
    }
    const std::optional<DenseConfig>& pooler = architecture_.pooler;
    if (!pooler || !holds(pooler->name + ".weight") || !holds(pooler->name + ".bias")) return;
    HeadConfig config;
    config.rows = HeadConfig::Rows::first;
    config.dense = {*pooler};
    pooler_ = std::make_unique<Head>(config, architecture_.hidden, tables_);
  }

  Var logits(Tape& tape, Var hidden) override {
    check_vocabulary();
    const PassLocks locks(one_pass_, tape);
    return head_->forward(tape, hidden, {});
  }

  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
           float factor) override {
    check_vocabulary();
    const PassLocks locks(one_pass_, tape);
    return head_->loss(tape, hidden, labels, {label_smoothing, kIgnoredLabel, factor});
  }

  CacheShape cache_shape() const override {
    if (!decoder_) throw without_part("decoder");
    const nn::AttentionConfig self = architecture_.decoder->block.self.completed();
    return {.layers = architecture_.decoder->layers,
            .key_width = self.kv_heads * self.head_dim,
            .value_width = self.kv_heads * self.value_dim,
            .cross = kind() == ModelKind::encoder_decoder,
            .max_positions = architecture_.max_positions,
            .window = widest_window(*architecture_.decoder),
            .precision = decoder_->precision(),
            .kv_heads = self.kv_heads};
  }

  void prepare_for_inference(const nn::Preparation& how) override {
    const std::lock_guard lock(one_pass_);
    if (encoder_) encoder_->prepare_for_inference(how);
    if (decoder_) decoder_->prepare_for_inference(how);
    if (memory_projection_) memory_projection_->prepare_for_inference(how);
    if (adapter_) adapter_->prepare_for_inference(how);
    head_->prepare_for_inference(how);
    if (pooling_) pooling_->prepare_for_inference(how);
  }

 private:
  // Return the encoder's output, or its projection if the model has memory_projection_. The projection is
  // stored in `projected_memory`.
  const Memory* projected(Tape& tape, const Memory* memory, Memory& projected_memory) const {
    if (!memory_projection_ || memory == nullptr) return memory;
    projected_memory = *memory;
    projected_memory.hidden = memory_projection_->forward(tape, memory->hidden);
    return &projected_memory;
  }

  // Return the largest attention window of all layers, or 0 if any layer has no window or is not causal.
  static std::int64_t widest_window(const StackConfig& stack) {
    std::int64_t widest = 0;
    for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
      nn::BlockConfig block = stack.block;
      if (stack.vary) stack.vary(layer, block);
      if (block.self.window <= 0 || !block.self.causal) return 0;
      widest = std::max(widest, block.self.window);
    }
    return widest;
  }
  std::int64_t encoder_hidden() const {
    return architecture_.encoder_hidden > 0 ? architecture_.encoder_hidden : architecture_.hidden;
  }
  std::unique_ptr<Stack> make_stack(const std::optional<StackConfig>& stack, std::int64_t hidden) {
    if (!stack) return nullptr;
    return std::make_unique<Stack>(*stack, hidden, make_input_embedding(stack->input, hidden, tables_));
  }
  // Replace computed sinusoids by the table in the file, if there is one. Return true if it is replaced.
  static bool use_stored_sinusoids(StackConfig& stack,
                                   const std::function<bool(const std::string& name)>& holds) {
    InputEmbeddingConfig& input = stack.input;
    if (input.stored_sinusoids.empty() || !holds(input.stored_sinusoids + ".weight")) return false;
    input.positions = std::exchange(input.stored_sinusoids, "");
    input.sinusoids.reset();
    return true;
  }
  void make_head() {
    const std::int64_t features = architecture_.adapter ? architecture_.adapter->out : architecture_.hidden;
    head_ = std::make_unique<Head>(architecture_.head, features, tables_);
  }
  void check_vocabulary() const {
    if (output() != Output::next_token && output() != Output::vocabulary)
      throw without_part("output vocabulary");
  }
  void check_values(const InputBatch& batch) const {
    if (batch.values.empty()) input_.require(InputKind::tokens);
    std::int64_t tokens = 0, longest = 0;
    for (const Tensor& values : batch.values) {
      const std::int64_t length = input_.length_of(values);
      tokens += length, longest = std::max(longest, length);
    }
    ops::require_ragged("model", batch.shape, tokens);
    ops::require_ids("model positions", batch.shape.positions, longest);
  }
  void check_batch(const TokenBatch& batch) const {
    ops::require_ragged("model", batch.shape, static_cast<std::int64_t>(batch.ids.size()));
    if (architecture_.max_positions > 0)
      ops::require_ids("model positions", batch.shape.positions, architecture_.max_positions,
                       architecture_.positions.over_tokens ? -1 : 0);
  }

  // Reserve space in the cache for the keys and values of `target`. Return true if the keys and values of
  // cross-attention must be computed as well.
  bool start(Cache& cache, const TokenBatch& target, const Memory* memory) const {
    const std::span<const std::int32_t> slots = cache.slots();
    if (static_cast<std::int64_t>(slots.size()) != target.shape.sequences())
      throw usage_error("the number of selected cache slots differs from the number of sequences")
          .found(std::to_string(slots.size()) + " selected slots")
          .expected(std::to_string(target.shape.sequences()) + " selected slots, one for each sequence");
    std::int64_t lacking = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      cache.make_room(slots[s], target.shape.offsets[s + 1] - target.shape.offsets[s]);
      if (!cache.has_cross(slots[s])) ++lacking;
    }
    if (kind() != ModelKind::encoder_decoder || lacking == 0) return false;
    check_memory(memory, lacking);
    std::size_t source = 0;
    for (const std::int32_t slot : slots) {
      if (cache.has_cross(slot)) continue;
      cache.start_cross(slot, memory->shape.offsets[source + 1] - memory->shape.offsets[source]);
      ++source;
    }
    return true;
  }

  std::mutex one_pass_;
  Architecture architecture_;
  InputSpec input_;
  TokenTables tables_;
  std::unique_ptr<Stack> encoder_, decoder_;         // null if the model has no such stack
  std::unique_ptr<nn::Linear> memory_projection_;    // may be null
  std::unique_ptr<nn::ConvolutionAdapter> adapter_;  // may be null
  std::unique_ptr<AttentionPooling> pooling_;        // may be null
  std::unique_ptr<Head> head_, pooler_;              // pooler_: pooler that the head does not use, or null
};

}  // namespace

std::unique_ptr<Network> make_network(Architecture architecture) {
  return std::make_unique<Assembled>(std::move(architecture));
}

}  // namespace regard::models
