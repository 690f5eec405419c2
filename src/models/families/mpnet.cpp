// MPNet (Song et al. 2020): post-norm encoder with learned positions numbered as in RoBERTa, and one relative
// position bias that all layers share.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

// Constants in transformers' code, which the configuration cannot change.
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
  config.only("relative_attention_num_buckets", kBuckets, "A different number of buckets");
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layer.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = mpnet_block(config);
  stack.relative_bias = nn::RelativeBiasConfig{
      prefix + "encoder.relative_attention_bias", stack.block.self.heads, {kBuckets, kMaxDistance, true}};
  stack.input = bert_embedding(config, prefix, stack.block);
  stack.input.padding = kPadding;
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
  set_roberta_head(config, kind, "MPNet", "mpnet.", all);
  return all;
}

}  // namespace regard::models::families
