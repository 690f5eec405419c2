// Classifiers, taggers and language models without attention.
#include <array>
#include <mutex>
#include <utility>

#include "base/json.h"
#include "models/pass_locks.h"
#include "models/sequence_body.h"
#include "models/state_cache.h"
#include "nn/branch.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "ops/check.h"
#include "ops/embedding.h"
#include "ops/join_columns.h"
#include "ops/pool_tokens.h"
#include "ops/replacing_probe.h"
#include "ops/view.h"
#include "regard/error.h"

namespace regard::models {
namespace {

class SequenceModel : public Network {
 public:
  SequenceModel(const SequenceConfig& config, const Json& json)
      : config_(config),
        json_(json),
        point_(predicts() ? "decoder" : "encoder"),
        embedding_("embedding", config.vocabulary, config.embedding, {Initialisation::Kind::normal, 0.1}),
        body_(make_sequence_body(config, point_)) {
    std::int64_t features = body_->out();
    for (std::int64_t layer = 0; config.family == "mlp" && layer < config.layers; ++layer) {
      dense_.push_back(linear(features, "layers." + std::to_string(layer), config.hidden));
      features = config.hidden;
    }
    if (!predicts()) classifier_ = linear(features, "classifier", config.labels);
    if (predicts() && !config.tied)
      projection_ = std::make_unique<nn::Embedding>("head", config.vocabulary, features, kXavier);
  }

  ModelKind kind() const override { return predicts() ? ModelKind::decoder : ModelKind::encoder; }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  const InputSpec& input_spec() const override { return input_; }
  std::int64_t hidden_size() const override { return body_->out(); }
  std::int64_t max_positions() const override { return 0; }
  Json config() const override { return json_; }
  Output output() const override { return config_.output; }
  std::int64_t labels() const override { return config_.labels; }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    embedding_.collect(all);
    body_->collect(all);
    for (const auto& layer : dense_) layer->collect(all);
    if (classifier_) classifier_->collect(all);
    if (projection_) projection_->collect(all);
    return all;
  }

  Var encode(Tape& tape, const InputBatch& source) override {
    if (predicts()) throw without_part("encoder");
    const PassLocks locks(one_pass_, tape);
    require_unmasked_text(source, "a network without attention");
    return run(tape, source, {});
  }

  Var decode(Tape& tape, const TokenBatch& target, const Memory*, Cache* cache) override {
    if (!predicts()) throw without_part("decoder");
    const PassLocks locks(one_pass_, tape);
    require_unmasked_text(target, "a network without attention");
    return cache == nullptr ? run(tape, target, {}) : run_cached(tape, target, *cache);
  }

  Var head(Tape& tape, Var hidden, const InputBatch& batch) override {
    const PassLocks locks(one_pass_, tape);
    const Ragged& shape = batch.shape;
    if (predicts()) return projection().logits(tape, hidden);
    const bool whole = config_.output == Output::sequence_classes;
    Var x = whole ? pool(tape, hidden, shape) : hidden;
    const Ragged rows = whole ? one_row_each(tape, shape) : shape;
    nn::Linear::Options relu;
    relu.activation = kernels::Activation::relu;
    for (const auto& layer : dense_) x = layer->forward(tape, x, relu);
    x = nn::dropped_copy(tape, x, rows, {config_.dropout, place_of("head.dropout")});
    return classifier_->forward(tape, x);
  }
  Var logits(Tape& tape, Var hidden) override {
    require_vocabulary();
    const PassLocks locks(one_pass_, tape);
    return projection().logits(tape, hidden);
  }
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
           float factor) override {
    require_vocabulary();
    const PassLocks locks(one_pass_, tape);
    return projection().loss(tape, hidden, labels, {label_smoothing, kIgnoredLabel, factor});
  }

  CacheShape cache_shape() const override {
    if (!predicts()) throw without_part("decoder");
    return {config_.layers, body_->state_size(), 0, false, 0, kStateWindow};
  }

  void prepare_for_inference(const nn::Preparation& how) override {
    const std::lock_guard lock(one_pass_);
    embedding_.prepare_for_inference(how);
    body_->prepare_for_inference(how);
    for (const auto& layer : dense_) layer->prepare_for_inference(how);
    if (classifier_) classifier_->prepare_for_inference(how);
    if (projection_) projection_->prepare_for_inference(how);
  }

 private:
  static std::unique_ptr<nn::Linear> linear(std::int64_t in, const std::string& name, std::int64_t out) {
    return std::make_unique<nn::Linear>(in, std::vector{nn::LinearPart{name, out, true, kXavier}});
  }
  bool predicts() const { return config_.output == Output::next_token; }
  const nn::Embedding& projection() const { return projection_ ? *projection_ : embedding_; }
  void require_vocabulary() const {
    if (!predicts()) throw without_part("output vocabulary");
  }

  Var run(Tape& tape, const InputBatch& batch, const nn::RecurrentStates& states) const {
    if (ReplacingProbe* probe = replacing_probe(tape)) probe->begin(point_, batch.shape);
    Var x = nn::show(tape, point_, "embedding", embedding_.forward(tape, batch.ids));
    x = ops::dropout(tape, x, batch.shape, {config_.dropout, place_of(point_ + ".embedding.dropout")});
    x = body_->forward(tape, x, batch.shape, states);
    return nn::show(tape, point_, "output", x);
  }

  Var run_cached(Tape& tape, const TokenBatch& target, Cache& cache) const {
    reserve_states(tape, cache, target);
    const auto layers = static_cast<std::size_t>(config_.layers);
    const std::int64_t size = body_->state_size();
    const std::span<Var> initial = tape.arena().array<Var>(layers);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Tensor state = tape.arena().zeros({target.shape.sequences(), size});
      for (std::size_t s = 0; s < cache.slots().size(); ++s)
        read_state(cache, static_cast<std::int64_t>(layer), cache.slots()[s], size,
                   state.row(static_cast<std::int64_t>(s)));
      initial[layer] = tape.constant(state);
    }
    const std::span<ops::Recurrence> after = tape.arena().array<ops::Recurrence>(layers);
    Var hidden = run(tape, target, {initial, after});
    write_states(tape, cache, target, after);
    return hidden;
  }

  // Return the pooled states [sequences, features]. Throws invalid_input for a sequence without tokens.
  Var pool(Tape& tape, Var hidden, const Ragged& shape) const {
    for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
      if (shape.offsets[s] == shape.offsets[s + 1])
        throw input_error("sequence " + std::to_string(s) + " has no tokens, so it cannot be classified")
            .found("0 tokens")
            .expected("at least 1 token");
    if (config_.pooling == SequenceConfig::Pooling::mean) return ops::mean_over_time(tape, hidden, shape);
    if (config_.pooling == SequenceConfig::Pooling::max) return ops::max_over_time(tape, hidden, shape);
    const auto sequences = static_cast<std::size_t>(shape.sequences());
    const std::span<std::int32_t> last = tape.arena().array<std::int32_t>(sequences);
    for (std::size_t s = 0; s < sequences; ++s) last[s] = shape.offsets[s + 1] - 1;
    if (!config_.bidirectional) return ops::select_rows(tape, hidden, last);
    // Select the state of each direction after the whole sequence: forward at the last token, backward at the
    // first.
    const std::int64_t half = hidden->value.columns() / 2;
    Var forward = ops::select_rows(tape, ops::columns(tape, hidden, 0, half), last);
    Var backward =
        ops::select_rows(tape, ops::columns(tape, hidden, half, half), shape.offsets.first(sequences));
    return ops::join_columns(tape, {forward, backward});
  }

  // Return the shape of a batch with one row per sequence of `shape`. Sequence indices are copied, because
  // dropout masks depend on them.
  static Ragged one_row_each(Tape& tape, const Ragged& shape) {
    const auto count = static_cast<std::size_t>(shape.sequences());
    const auto offsets = tape.arena().array<std::int32_t>(count + 1);
    const auto positions = tape.arena().array<std::int32_t>(count);
    const auto indices = tape.arena().array<std::uint64_t>(count);
    for (std::size_t s = 0; s < count; ++s) {
      offsets[s] = static_cast<std::int32_t>(s), positions[s] = 0;
      indices[s] = shape.sequence_index[static_cast<std::size_t>(shape.offsets[s])];
    }
    offsets[count] = static_cast<std::int32_t>(count);
    return {offsets, positions, indices};
  }

  std::mutex one_pass_;
  SequenceConfig config_;
  Json json_;
  std::string point_;
  InputSpec input_;
  nn::Embedding embedding_;
  std::unique_ptr<SequenceBody> body_;
  std::vector<std::unique_ptr<nn::Linear>> dense_;
  // projection to the labels; null if the model predicts the next token
  std::unique_ptr<nn::Linear> classifier_;
  // projection to the vocabulary; null if it is tied or the model is a classifier
  std::unique_ptr<nn::Embedding> projection_;
};

}  // namespace

std::unique_ptr<Network> make_sequence_model(const Json& json, const std::string& file) {
  const SequenceConfig config = read_sequence_config(json, file);
  if (config.family == "rnn-search") return make_search_model(config, json);
  return std::make_unique<SequenceModel>(config, json);
}

}  // namespace regard::models
