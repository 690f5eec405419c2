#include "models/transformer.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "nn/activation_name.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "ops/add.h"
#include "ops/check.h"
#include "ops/dropout.h"
#include "regard/error.h"

namespace regard {
namespace {

using Kind = Initialisation::Kind;

// How the papers' code sets weights: tensor2tensor for the encoder–decoder, GPT-2's for the decoder.
struct WeightRules {
  Initialisation embedding, linear, residual;  // residual: projections that end a branch
};

WeightRules rules_for(const TransformerConfig& config) {
  const bool gpt2 =
      config.initialisation == "gpt2" || (config.initialisation == "auto" && !config.has_encoder());
  if (!gpt2) {
    const Initialisation xavier{Kind::xavier_uniform, 0.0};
    return {{Kind::normal, 1.0 / std::sqrt(static_cast<double>(config.hidden_size))}, xavier, xavier};
  }
  const double branches = 2.0 * static_cast<double>(config.encoder_count() + config.decoder_count());
  return {{Kind::normal, 0.02}, {Kind::normal, 0.02}, {Kind::normal, 0.02 / std::sqrt(branches)}};
}

nn::NormConfig norm_config(const TransformerConfig& config) {
  return {config.norm_kind == "rms", config.bias, config.norm_epsilon, 0.0};
}

nn::AttentionConfig attention_config(const TransformerConfig& config, bool cross, bool causal) {
  const WeightRules rules = rules_for(config);
  nn::AttentionConfig attention;
  attention.hidden = config.hidden_size;
  attention.heads = config.heads, attention.kv_heads = config.kv_heads;
  attention.head_dim = config.head_size;
  attention.cross = cross, attention.causal = causal;
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = config.bias;
  attention.dropout =
      static_cast<float>(config.attention_dropout < 0.0 ? config.dropout : config.attention_dropout);
  attention.initial = rules.linear, attention.output_initial = rules.residual;
  const std::string prefix = cross ? "cross_attention." : "self_attention.";
  attention.query = prefix + "query", attention.key = prefix + "key";
  attention.value = prefix + "value", attention.output = prefix + "output";
  return attention;
}

nn::BlockConfig block_config(const TransformerConfig& config, bool decoder) {
  const WeightRules rules = rules_for(config);
  nn::BlockConfig block;
  block.self = attention_config(config, false, decoder);
  block.has_cross = decoder && config.has_encoder();
  if (block.has_cross) block.cross = attention_config(config, true, false);
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = config.hidden_size, feed_forward.inner = config.feed_forward_size;
  feed_forward.activation = activation_of(config.activation), feed_forward.gated = config.gated;
  feed_forward.bias = config.bias;
  feed_forward.dropout =
      static_cast<float>(config.activation_dropout < 0.0 ? config.dropout : config.activation_dropout);
  feed_forward.initial = rules.linear, feed_forward.output_initial = rules.residual;
  feed_forward.up = "feed_forward.up", feed_forward.gate = "feed_forward.gate";
  feed_forward.down = "feed_forward.down";
  block.norm = norm_config(config);
  const auto norm_at = [&](const char* name) {
    return config.norm == "pre" ? nn::NormNames{name, "", ""} : nn::NormNames{"", "", name};
  };
  block.self_norm = norm_at("self_attention_norm");
  block.cross_norm = norm_at("cross_attention_norm");
  block.feed_forward_norm = norm_at("feed_forward_norm");
  block.dropout = static_cast<float>(config.dropout);
  return block;
}

// One side: embeddings, positions, layers, the norm behind them. The token embedding may be the other side's.
class Stack {
 public:
  Stack(const TransformerConfig& config, bool decoder, nn::Embedding* tokens)
      : name_(decoder ? "decoder" : "encoder"),
        tokens_(tokens),
        dropout_{static_cast<float>(config.dropout), place_of(name_ + ".embedding.dropout")} {
    const bool scaled = config.scale_embeddings == "yes" ||
                        (config.scale_embeddings == "auto" && config.positions == "sinusoidal");
    if (scaled) factor_ = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
    if (config.positions == "learned")
      learned_ = std::make_unique<nn::Embedding>(name_ + ".positions", config.max_positions,
                                                 config.hidden_size, rules_for(config).embedding);
    if (config.positions == "sinusoidal")
      sinusoidal_ =
          std::make_unique<nn::SinusoidalPositions>(config.hidden_size, nn::SinusoidLayout::interleaved);
    if (config.positions == "rotary")
      rotary_ = std::make_unique<nn::RotaryPositions>(
          config.head_size > 0 ? config.head_size : config.hidden_size / config.heads, config.rotary_base,
          false);
    const nn::BlockConfig block = block_config(config, decoder);
    const std::int64_t layers = decoder ? config.decoder_count() : config.encoder_count();
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string number = std::to_string(i);
      blocks_.push_back(
          std::make_unique<nn::Block>(name_ + ".layers." + number + ".", name_ + "." + number, block));
    }
    if (config.norm == "pre")
      norm_ = std::make_unique<nn::Norm>(name_ + ".norm", config.hidden_size, norm_config(config));
  }

  Var forward(Tape& tape, const TokenBatch& batch, const Memory* memory, Cache* cache) const {
    Var x = tokens_->forward(tape, batch.ids, factor_);
    if (learned_) x = ops::add(tape, x, learned_->forward(tape, batch.shape.positions));
    if (sinusoidal_) x = ops::add(tape, x, sinusoidal_->forward(tape, batch.shape.positions));
    nn::show(tape, name_, "embedding", x);
    x = ops::dropout(tape, x, batch.shape, dropout_);
    nn::AttentionInput self, cross;
    self.shape = cross.shape = &batch.shape;
    self.cache = cross.cache = cache;
    self.rotary = rotary_.get();
    cross.memory = memory;
    for (const auto& block : blocks_) {
      x = nn::in_one_place(tape, x, [&] { return block->forward(tape, x, self, cross); });
      ++self.layer, ++cross.layer;
    }
    if (norm_) x = norm_->forward(tape, x);
    nn::show(tape, name_, "output", x);
    return x;
  }

  void collect(std::vector<Parameter*>& parameters) const {
    if (learned_) learned_->collect(parameters);
    for (const auto& block : blocks_) block->collect(parameters);
    if (norm_) norm_->collect(parameters);
  }

  void prepare_for_inference(ThreadPool& pool) const {
    for (const auto& block : blocks_) block->prepare_for_inference(pool);
  }

 private:
  std::string name_;
  nn::Embedding* tokens_;
  float factor_ = 1.0f;
  ops::DropoutOptions dropout_;
  std::unique_ptr<nn::Embedding> learned_;
  std::unique_ptr<nn::SinusoidalPositions> sinusoidal_;
  std::unique_ptr<nn::RotaryPositions> rotary_;
  std::vector<std::unique_ptr<nn::Block>> blocks_;
  std::unique_ptr<nn::Norm> norm_;
};

class Transformer : public Network {
 public:
  explicit Transformer(const TransformerConfig& config) : config_(config) {
    const WeightRules rules = rules_for(config);
    const bool both = config.has_encoder() && config.has_decoder();
    const bool apart = both && config.tie_embeddings != "all";
    const auto table = [&](const std::string& name, std::int64_t count, Initialisation initial) {
      return std::make_unique<nn::Embedding>(name, count, config.hidden_size, initial);
    };
    if (apart) source_ = table("encoder.embedding", source_vocabulary(), rules.embedding);
    target_ = table(apart ? "decoder.embedding" : "embedding", config.vocabulary, rules.embedding);
    if (config.tie_embeddings == "none") head_ = table("head", config.vocabulary, rules.linear);
    if (config.has_encoder())
      encoder_ = std::make_unique<Stack>(config, false, source_ ? source_.get() : target_.get());
    if (config.has_decoder()) decoder_ = std::make_unique<Stack>(config, true, target_.get());
  }

  ModelKind kind() const override {
    if (!decoder_) return ModelKind::encoder;
    return encoder_ ? ModelKind::encoder_decoder : ModelKind::decoder;
  }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t source_vocabulary() const override {
    return config_.source_vocabulary > 0 ? config_.source_vocabulary : config_.vocabulary;
  }
  std::int64_t hidden_size() const override { return config_.hidden_size; }
  std::int64_t max_positions() const override { return config_.max_positions; }
  Json config() const override { return config_.to_json(); }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    if (source_) source_->collect(all);
    target_->collect(all);
    if (encoder_) encoder_->collect(all);
    if (decoder_) decoder_->collect(all);
    if (head_) head_->collect(all);
    return all;
  }

  Var encode(Tape& tape, const TokenBatch& source) override {
    if (!encoder_) throw usage_error("this model has no encoder");
    check_batch(source);
    return encoder_->forward(tape, source, nullptr, nullptr);
  }

  Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) override {
    if (!decoder_) throw usage_error("this model has no decoder");
    check_batch(target);
    if (cache == nullptr) {
      check_memory(memory, target.shape.sequences());
      return decoder_->forward(tape, target, memory, nullptr);
    }
    const bool starts = start(*cache, target, memory);
    Var hidden = decoder_->forward(tape, target, starts ? memory : nullptr, cache);
    for (std::size_t s = 0; s < cache->slots().size(); ++s)
      cache->advance(cache->slots()[s], target.shape.offsets[s + 1] - target.shape.offsets[s]);
    return hidden;
  }

  Var logits(Tape& tape, Var hidden) override { return head().logits(tape, hidden); }

  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
           float factor) override {
    return head().loss(tape, hidden, labels, {label_smoothing, kIgnoredLabel, factor});
  }

  CacheShape cache_shape() const override {
    const std::int64_t head = config_.head_size > 0 ? config_.head_size : config_.hidden_size / config_.heads;
    const std::int64_t width = head * (config_.kv_heads > 0 ? config_.kv_heads : config_.heads);
    return {config_.decoder_count(), width, width, kind() == ModelKind::encoder_decoder,
            config_.max_positions};
  }

  void prepare_for_inference(ThreadPool& pool) override {
    if (encoder_) encoder_->prepare_for_inference(pool);
    if (decoder_) decoder_->prepare_for_inference(pool);
    head().prepare_for_inference(pool);
  }

 private:
  nn::Embedding& head() { return head_ ? *head_ : *target_; }

  void check_batch(const TokenBatch& batch) const {
    ops::require_ragged("model", batch.shape, static_cast<std::int64_t>(batch.ids.size()));
    if (config_.max_positions > 0)
      ops::require_ids("model positions", batch.shape.positions, config_.max_positions);
  }

  void check_memory(const Memory* memory, std::int64_t sequences) const {
    if (kind() != ModelKind::encoder_decoder) return;
    if (memory == nullptr || memory->hidden == nullptr)
      throw usage_error("the decoder needs the encoder's output");
    ops::require_ragged("memory", memory->shape, memory->hidden->value.rows());
    if (memory->shape.sequences() != sequences)
      throw usage_error("the memory must have one sequence for each of the decoder's that needs one")
          .found(std::to_string(memory->shape.sequences()))
          .expected(std::to_string(sequences));
  }

  // Makes room in the cache before anything is written to it. Whether cross-attention is to be computed.
  bool start(Cache& cache, const TokenBatch& target, const Memory* memory) const {
    const std::span<const std::int32_t> slots = cache.slots();
    if (static_cast<std::int64_t>(slots.size()) != target.shape.sequences())
      throw usage_error("the cache must have one selected slot for each sequence of the batch")
          .found(std::to_string(slots.size()))
          .expected(std::to_string(target.shape.sequences()));
    std::int64_t lacking = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      cache.check_room(slots[s], target.shape.offsets[s + 1] - target.shape.offsets[s]);
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

  TransformerConfig config_;
  std::unique_ptr<nn::Embedding> source_, target_, head_;  // source_, head_: null where shared with target_
  std::unique_ptr<Stack> encoder_, decoder_;
};

}  // namespace

std::unique_ptr<Network> make_transformer(const TransformerConfig& config) {
  config.check();
  return std::make_unique<Transformer>(config);
}

}  // namespace regard
