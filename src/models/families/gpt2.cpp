// GPT-2 (Radford et al. 2019), as in transformers' modeling_gpt2.py: a pre-norm decoder with learned
// positions. One weight contains query, key and value; weights are stored as [in, out].
#include <cmath>

#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

nn::BlockConfig block_of(const ConfigReader& config, std::int64_t hidden) {
  nn::BlockConfig block;
  nn::AttentionConfig& self = block.self;
  self.hidden = hidden;
  self.heads = config.divisor("n_head", hidden, "n_embd");
  self.causal = self.joint = self.transposed = true;
  if (!config.flag("scale_attn_weights", true)) self.scale = 1.0f;
  self.dropout = config.rate("attn_pdrop", 0.1f);
  self.query = "attn.c_attn", self.output = "attn.c_proj";
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = hidden, feed_forward.inner = config.size("n_inner", 4 * hidden);
  feed_forward.activation = config.activation("activation_function", "gelu_new");
  feed_forward.transposed = true;
  feed_forward.up = "mlp.c_fc", feed_forward.down = "mlp.c_proj";
  block.norm = {false, true, config.epsilon("layer_norm_epsilon", 1e-5), 0.0};
  block.self_norm.before = "ln_1", block.feed_forward_norm.before = "ln_2";
  block.dropout = config.rate("resid_pdrop", 0.1f);
  const double deviation = config.number("initializer_range", 0.02, 0.0, 1.0);
  initialise_normal(block, deviation);
  self.output_initial.value = feed_forward.output_initial.value =
      deviation / std::sqrt(2.0 * static_cast<double>(config.layers("n_layer")));
  if (!config.flag("add_cross_attention", false)) return block;
  block.has_cross = true;
  block.cross = self;
  block.cross.cross = true, block.cross.causal = false;
  block.cross.query = "crossattention.q_attn", block.cross.key = "crossattention.c_attn";
  block.cross.output = "crossattention.c_proj";
  block.cross_norm.before = "ln_cross_attn";
  return block;
}

// scale_attn_by_inverse_layer_idx: divide the scores by the layer's number, counted from 1.
void divide_by_layer(std::int64_t layer, nn::BlockConfig& block) {
  const nn::AttentionConfig& self = block.self;
  const std::int64_t head_dim = self.hidden / self.heads;
  const double usual =
      self.scale != 0.0f ? static_cast<double>(self.scale) : 1.0 / std::sqrt(static_cast<double>(head_dim));
  block.self.scale = block.cross.scale = static_cast<float>(usual / static_cast<double>(layer + 1));
}

}  // namespace

StackConfig gpt2_decoder(const ConfigReader& config, const std::string& prefix) {
  StackConfig stack;
  stack.point = "decoder";
  stack.prefix = prefix + "h.";
  stack.layers = config.layers("n_layer");
  stack.block = block_of(config, config.size("n_embd"));
  if (config.flag("scale_attn_by_inverse_layer_idx", false)) stack.vary = divide_by_layer;
  InputEmbeddingConfig& input = stack.input;
  input.tokens = prefix + "wte";
  input.vocabulary = config.size("vocab_size");
  input.positions = prefix + "wpe";
  input.position_rows = config.size("n_positions");
  input.dropout = config.rate("embd_pdrop", 0.1f);
  stack.norm = prefix + "ln_f", stack.norm_config = stack.block.norm;
  return stack;
}

Architecture gpt2(const ConfigReader& config) {
  const std::string kind =
      architecture_of(config, {"GPT2LMHeadModel", "GPT2Model", "GPT2ForSequenceClassification"});
  config.only("add_cross_attention", false, "GPT-2 with cross-attention");
  const std::string prefix = kind == "GPT2Model" ? "" : "transformer.";
  Architecture all;
  all.hidden = config.size("n_embd");
  all.decoder = gpt2_decoder(config, prefix);
  const InputEmbeddingConfig& input = all.decoder->input;
  all.max_positions = input.position_rows;
  check_common(config, input.vocabulary);
  all.names.prefixes = {"transformer."};
  all.names.ignored = {".attn.bias", ".attn.masked_bias"};
  if (kind == "GPT2LMHeadModel") {
    const bool tied = config.flag("tie_word_embeddings", true);
    all.head.output = Output::next_token;
    all.head.projection = tied ? input.tokens : "lm_head";
    all.head.out = input.vocabulary;
    if (tied) all.names.copies = {{input.tokens + ".weight", "lm_head.weight"}};
  } else if (kind == "GPT2ForSequenceClassification") {
    all.head = last_token_classifier(config, config.padding(input.vocabulary, -1));
  } else {
    all.names.ignored.push_back("lm_head.weight");
  }
  return all;
}

}  // namespace regard::models::families
