#include "models/transformer.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/architecture.h"
#include "nn/activation_name.h"
#include "ops/parameter.h"

namespace regard::models {
namespace {

using Kind = Initialisation::Kind;

// Initialisation of each kind of weight: as in tensor2tensor for "xavier", as in GPT-2 for "gpt2".
struct WeightRules {
  Initialisation embedding, linear, residual;  // residual: projections before a residual sum
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

StackConfig stack_config(const TransformerConfig& config, bool decoder, const std::string& tokens) {
  StackConfig stack;
  stack.point = decoder ? "decoder" : "encoder";
  stack.prefix = stack.point + ".layers.";
  stack.layers = decoder ? config.decoder_count() : config.encoder_count();
  stack.block = block_config(config, decoder);
  InputEmbeddingConfig& input = stack.input;
  input.tokens = tokens;
  input.vocabulary = !decoder && config.source_vocabulary > 0 ? config.source_vocabulary : config.vocabulary;
  if (config.scales_embeddings())
    input.factor = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  if (config.positions == "learned")
    input.positions = stack.point + ".positions", input.position_rows = config.max_positions;
  if (config.positions == "sinusoidal") input.sinusoids = nn::SinusoidLayout::interleaved;
  if (config.positions == "rotary") {
    const std::int64_t size = config.head_size > 0 ? config.head_size : config.hidden_size / config.heads;
    stack.rotary = nn::RotaryConfig{nn::rotary_frequencies(size, config.rotary_base), 1.0, false};
  }
  input.dropout = static_cast<float>(config.dropout);
  input.initial = rules_for(config).embedding;
  if (config.norm == "pre") stack.norm = stack.point + ".norm", stack.norm_config = norm_config(config);
  return stack;
}

}  // namespace

std::unique_ptr<Network> make_transformer(const TransformerConfig& config) {
  config.check();
  const bool both = config.has_encoder() && config.has_decoder();
  const bool apart = both && config.tie_embeddings != "all";
  const std::string source = apart ? "encoder.embedding" : "embedding";
  const std::string target = apart ? "decoder.embedding" : "embedding";
  Architecture all;
  all.config = config.to_json();
  all.hidden = config.hidden_size, all.max_positions = config.max_positions;
  if (config.has_encoder()) all.encoder = stack_config(config, false, source);
  if (config.has_decoder()) all.decoder = stack_config(config, true, target);
  all.head.output = config.has_decoder() ? Output::next_token : Output::vocabulary;
  all.head.projection = config.tie_embeddings == "none" ? "head" : target;
  all.head.out = config.vocabulary;
  all.head.initial = rules_for(config).linear;
  return make_network(std::move(all));
}

}  // namespace regard::models
