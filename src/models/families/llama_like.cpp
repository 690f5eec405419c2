#include "models/families/llama_like.h"

#include <cmath>

#include "models/families/encoder_heads.h"
#include "models/families/rope.h"

namespace regard::models::families {
namespace {

std::int64_t head_size(const ConfigReader& config, const LlamaLike& what, std::int64_t hidden,
                       std::int64_t heads) {
  if (config.has("head_dim")) return config.size("head_dim");
  if (what.head_dim > 0) return what.head_dim;
  config.divisor("num_attention_heads", hidden, "hidden_size");
  return hidden / heads;
}

// Return num_key_value_heads. As in transformers, a key that is null means num_attention_heads, and a key
// that is absent means the default value of the family.
std::int64_t key_value_heads(const ConfigReader& config, const LlamaLike& what, std::int64_t heads) {
  constexpr const char* kKey = "num_key_value_heads";
  if (config.has(kKey)) return config.divisor(kKey, heads, "num_attention_heads");
  if (what.kv_heads == 0 || config.json().contains(kKey)) return heads;
  if (heads % what.kv_heads != 0)
    throw config.wrong(kKey, "the key to be present, because the default value, " +
                                 std::to_string(what.kv_heads) + ", does not divide num_attention_heads, " +
                                 std::to_string(heads));
  return what.kv_heads;
}

nn::BlockConfig block_of(const ConfigReader& config, const LlamaLike& what, std::int64_t hidden) {
  nn::BlockConfig block;
  nn::AttentionConfig& self = block.self;
  self.hidden = hidden, self.causal = true;
  self.heads = config.size("num_attention_heads");
  self.kv_heads = key_value_heads(config, what, self.heads);
  self.head_dim = head_size(config, what, hidden, self.heads);
  self.query_bias = what.query_bias, self.key_bias = what.key_bias;
  self.value_bias = what.value_bias, self.output_bias = what.output_bias;
  self.dropout = config.rate("attention_dropout", 0.0f);
  self.query = "self_attn.q_proj", self.key = "self_attn.k_proj";
  self.value = "self_attn.v_proj", self.output = "self_attn.o_proj";
  block.norm = {true, false, config.epsilon("rms_norm_eps", 1e-6), what.gain_offset};
  if (what.head_norms) {
    self.query_norm = "self_attn.q_norm", self.key_norm = "self_attn.k_norm";
    self.head_norm = block.norm;
  }
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = hidden, feed_forward.inner = config.size("intermediate_size");
  feed_forward.activation = what.activation;
  feed_forward.gated = true, feed_forward.bias = what.mlp_bias;
  feed_forward.gate = "mlp.gate_proj", feed_forward.up = "mlp.up_proj", feed_forward.down = "mlp.down_proj";
  block.self_norm.before = "input_layernorm";
  block.feed_forward_norm.before = "post_attention_layernorm";
  initialise_normal(block, config.number("initializer_range", 0.02, 0.0, 1.0));
  return block;
}

void add_head(const ConfigReader& config, const LlamaLike& what, const std::string& kind, Architecture& all) {
  const InputEmbeddingConfig& input = all.decoder->input;
  if (kind == what.name + "ForCausalLM") {
    const bool tied = config.flag("tie_word_embeddings", what.tied);
    all.head.output = Output::next_token;
    all.head.projection = tied ? input.tokens : "lm_head";
    all.head.out = input.vocabulary;
    if (tied) all.names.copies = {{input.tokens + ".weight", "lm_head.weight"}};
  } else if (kind == what.name + "ForSequenceClassification") {
    all.head = last_token_classifier(config, input.padding);
  } else {
    all.names.ignored.push_back("lm_head.weight");
  }
}

}  // namespace

std::int64_t window_of(const ConfigReader& config, std::int64_t fallback) {
  const auto found = config.json().find("sliding_window");
  if (found == config.json().end()) return fallback;
  return found->is_null() ? 0 : config.size("sliding_window");
}

Architecture llama_like(const ConfigReader& config, const LlamaLike& what) {
  const std::string causal = what.name + "ForCausalLM", base = what.name + "Model",
                    classifier = what.name + "ForSequenceClassification";
  const std::string kind = architecture_of(config, {causal.c_str(), base.c_str(), classifier.c_str()});
  const std::string prefix = kind == base ? "" : "model.";
  Architecture all;
  all.hidden = config.size("hidden_size");
  StackConfig& stack = all.decoder.emplace();
  stack.point = "decoder";
  stack.prefix = prefix + "layers.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = block_of(config, what, all.hidden);
  if (!what.windows.empty())
    stack.vary = [windows = what.windows](std::int64_t layer, nn::BlockConfig& block) {
      block.self.window = windows[static_cast<std::size_t>(layer)];
    };
  stack.rotary = rope_of(config, stack.block.self.head_dim);
  stack.norm = prefix + "norm", stack.norm_config = stack.block.norm;
  InputEmbeddingConfig& input = stack.input;
  input.tokens = prefix + "embed_tokens";
  input.vocabulary = config.size("vocab_size");
  input.padding = config.padding(input.vocabulary, what.padding);
  if (what.scale_embeddings) input.factor = static_cast<float>(std::sqrt(static_cast<double>(all.hidden)));
  all.max_positions = config.size("max_position_embeddings");
  check_common(config, input.vocabulary);
  all.names.prefixes = {"model."};
  all.names.ignored = {"rotary_emb.inv_freq"};
  add_head(config, what, kind, all);
  return all;
}

}  // namespace regard::models::families
