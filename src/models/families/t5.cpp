// T5 (Raffel et al. 2020) and T5 1.1, as in transformers' modeling_t5.py: a pre-norm encoder–decoder with RMS
// norms, no biases and unscaled attention scores. The encoder and the decoder each have one table of relative
// position biases for all layers. T5 1.1 has a gated feed-forward layer and an untied output projection.
#include <cmath>

#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

struct Activated {
  kernels::Activation activation;
  bool gated;
};

// Parse feed_forward_proj: "ACTIVATION" or "gated-ACTIVATION". "gated-gelu" means the tanh approximation of
// GELU. As in transformers, dense_act_fn and is_gated_act override this key.
Activated feed_forward_proj(const ConfigReader& config) {
  const std::string name = config.word("feed_forward_proj", "relu");
  const std::string gate = "gated-";
  const bool starts_gated = name.starts_with(gate), gated = config.flag("is_gated_act", starts_gated);
  if (config.has("dense_act_fn")) return {config.activation("dense_act_fn", ""), gated};
  if (name == "gated-gelu") return {kernels::Activation::gelu_tanh, gated};
  const Json plain = {{"feed_forward_proj", starts_gated ? name.substr(gate.size()) : name}};
  return {ConfigReader(plain, config.file()).activation("feed_forward_proj", "relu"), gated};
}

nn::AttentionConfig attention_of(const ConfigReader& config, const std::string& name) {
  nn::AttentionConfig attention;
  attention.hidden = config.size("d_model");
  attention.heads = config.size("num_heads"), attention.head_dim = config.size("d_kv", 64);
  attention.scale = 1.0f;
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = false;
  attention.dropout = config.rate("dropout_rate", 0.1f);
  attention.query = name + ".q", attention.key = name + ".k";
  attention.value = name + ".v", attention.output = name + ".o";
  return attention;
}

nn::BlockConfig block_of(const ConfigReader& config, bool decoder) {
  nn::BlockConfig block;
  block.norm = {true, false, config.epsilon("layer_norm_epsilon", 1e-6), 0.0};
  block.dropout = config.rate("dropout_rate", 0.1f);
  block.self = attention_of(config, "layer.0.SelfAttention");
  block.self_norm.before = "layer.0.layer_norm";
  if (decoder) {
    block.self.causal = block.has_cross = true;
    block.cross = attention_of(config, "layer.1.EncDecAttention");
    block.cross.cross = true;
    block.cross_norm.before = "layer.1.layer_norm";
  }
  const std::string last = decoder ? "layer.2." : "layer.1.";
  const Activated activated = feed_forward_proj(config);
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = block.self.hidden, feed_forward.inner = config.size("d_ff");
  feed_forward.activation = activated.activation, feed_forward.gated = activated.gated;
  feed_forward.bias = false;
  feed_forward.dropout = block.dropout;
  feed_forward.gate = last + "DenseReluDense.wi_0";
  feed_forward.up = last + (activated.gated ? "DenseReluDense.wi_1" : "DenseReluDense.wi");
  feed_forward.down = last + "DenseReluDense.wo";
  block.feed_forward_norm.before = last + "layer_norm";
  const double factor = config.number("initializer_factor", 1.0, 0.0, 1e3);
  initialise_normal(block, factor / std::sqrt(static_cast<double>(block.self.hidden)));
  return block;
}

StackConfig stack_of(const ConfigReader& config, bool decoder) {
  StackConfig stack;
  stack.point = decoder ? "decoder" : "encoder";
  stack.prefix = stack.point + ".block.";
  stack.layers = config.layers("num_layers");
  if (decoder && config.has("num_decoder_layers")) stack.layers = config.layers("num_decoder_layers");
  stack.block = block_of(config, decoder);
  stack.input.tokens = "shared";
  stack.input.vocabulary = config.size("vocab_size");
  stack.input.dropout = stack.output_dropout = stack.block.dropout;
  nn::RelativeBiasConfig bias;
  bias.name = stack.prefix + "0.layer.0.SelfAttention.relative_attention_bias";
  bias.heads = stack.block.self.heads;
  bias.buckets.bidirectional = !decoder;
  bias.buckets.count = config.size("relative_attention_num_buckets", 32);
  bias.buckets.max_distance = config.size("relative_attention_max_distance", 128);
  // In each direction, at least one bucket must be for a single distance, and max_distance must be larger
  // than all distances with a bucket of their own.
  if (bias.buckets.count < 4) throw config.wrong("relative_attention_num_buckets", "at least 4");
  const std::int64_t exact = bias.buckets.count / (decoder ? 2 : 4);
  if (bias.buckets.max_distance <= exact)
    throw config.wrong("relative_attention_max_distance", "more than " + std::to_string(exact));
  stack.relative_bias = bias;
  stack.norm = stack.point + ".final_layer_norm", stack.norm_config = stack.block.norm;
  return stack;
}

// The output layer of T5 1.1 is not tied to the embedding: config.json contains tie_word_embeddings = false
// or, if transformers 5 wrote it, scale_decoder_outputs = false. If both keys are present,
// scale_decoder_outputs takes precedence.
void add_head(const ConfigReader& config, Architecture& all) {
  const bool tied = config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", true));
  all.head.output = Output::next_token;
  all.head.projection = tied ? "shared" : "lm_head";
  all.head.out = all.decoder->input.vocabulary;
  if (!tied) {
    all.head.tied_if_absent = "shared";
    return;
  }
  all.head.factor = 1.0f / std::sqrt(static_cast<float>(all.hidden));
  all.names.copies.push_back({"shared.weight", "lm_head.weight"});
}

}  // namespace

Architecture t5(const ConfigReader& config) {
  const std::string kind =
      architecture_of(config, {"T5ForConditionalGeneration", "T5Model", "T5EncoderModel"});
  Architecture all;
  all.hidden = config.size("d_model");
  all.encoder = stack_of(config, false);
  check_common(config, all.encoder->input.vocabulary);
  all.names.copies = {{"shared.weight", "encoder.embed_tokens.weight"}};
  all.names.ignored = {"EncDecAttention.relative_attention_bias.weight"};
  if (kind == "T5EncoderModel") {
    all.names.ignored.insert(all.names.ignored.end(), {"decoder.", "lm_head.weight"});
    return all;
  }
  all.decoder = stack_of(config, true);
  all.names.copies.push_back({"shared.weight", "decoder.embed_tokens.weight"});
  if (kind == "T5Model") {
    all.names.ignored.push_back("lm_head.weight");
  } else {
    add_head(config, all);
  }
  return all;
}

}  // namespace regard::models::families
