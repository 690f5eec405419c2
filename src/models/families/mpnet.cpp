// MPNet (Song et al. 2020): post-norm encoder with one relative position bias shared by all layers, and
// learned positions numbered as in RoBERTa.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::families {
namespace {

// Fixed in transformers' code regardless of the configuration.
constexpr std::int64_t kPadding = 1, kBuckets = 32, kMaxDistance = 128;

// BERT's block with different weight names.
nn::BlockConfig mpnet_block(const ConfigReader& config) {
  nn::BlockConfig block = bert_block(config, config.size("hidden_size"));
  block.self.query = "attention.attn.q", block.self.key = "attention.attn.k";
  block.self.value = "attention.attn.v", block.self.output = "attention.attn.o";
  block.self_norm.after = "attention.LayerNorm";
  return block;
}

StackConfig mpnet_encoder(const ConfigReader& config, const std::string& prefix) {
  config.only("relative_attention_num_buckets", kBuckets, "a different number of buckets");
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layer.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = mpnet_block(config);
  stack.relative_bias = nn::RelativeBiasConfig{
      prefix + "encoder.relative_attention_bias", stack.block.self.heads, {kBuckets, kMaxDistance, true}};
  InputEmbeddingConfig& input = stack.input;
  input.tokens = prefix + "embeddings.word_embeddings";
  input.vocabulary = config.size("vocab_size");
  input.padding = kPadding;
  input.positions = prefix + "embeddings.position_embeddings";
  input.position_rows = config.size("max_position_embeddings");
  input.norm = prefix + "embeddings.LayerNorm";
  input.norm_config = stack.block.norm;
  input.dropout = stack.block.dropout;
  return stack;
}

}  // namespace

Architecture mpnet(const ConfigReader& config) {
  const std::string kind =
      architecture_of(config, {"MPNetModel", "MPNetForMaskedLM", "MPNetForSequenceClassification",
                               "MPNetForTokenClassification", "MPNetForQuestionAnswering"});
  Architecture all;
  all.hidden = config.size("hidden_size");
  const std::string prefix = kind == "MPNetModel" ? "" : "mpnet.";
  all.encoder = mpnet_encoder(config, prefix);
  check_common(config, all.encoder->input.vocabulary);
  count_positions_over_tokens(config, kPadding, all);
  const auto dense = [&](const std::string& name, kernels::Activation activation) {
    return DenseConfig{name, all.hidden, activation, true, "", all.encoder->block.norm};
  };
  const DenseConfig pooler = dense(prefix + "pooler.dense", kernels::Activation::tanh);
  if (kind == "MPNetModel") {
    all.head = pooled(pooler);
  } else if (kind == "MPNetForMaskedLM") {
    DenseConfig transform = dense("lm_head.dense", kernels::Activation::gelu);
    transform.norm = "lm_head.layer_norm";
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == "MPNetForSequenceClassification") {
    all.head = sequence_classifier(config, {dense("classifier.dense", kernels::Activation::tanh)},
                                   "classifier.out_proj");
  } else if (kind == "MPNetForTokenClassification") {
    all.head = token_classifier(config, "classifier");
  } else {
    all.head = question_answering("qa_outputs");
  }
  all.names = encoder_names("mpnet.");
  all.names.ignored.push_back(kind == "MPNetModel" ? "lm_head." : "pooler.dense.");
  if (kind != "MPNetModel") all.pooler = pooler;
  if (kind == "MPNetForMaskedLM") name_projection(config, "lm_head.decoder", "lm_head.bias", all);
  return all;
}

}  // namespace regard::families
