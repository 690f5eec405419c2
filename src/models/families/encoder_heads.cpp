#include "models/families/encoder_heads.h"

namespace regard::families {

HeadConfig pooled(const DenseConfig& dense) {
  HeadConfig head;
  head.output = Output::pooled;
  head.rows = HeadConfig::Rows::first;
  head.dense = {dense};
  return head;
}

HeadConfig masked_language_model(const ConfigReader& config, const StackConfig& encoder,
                                 const DenseConfig& transform, const std::string& own) {
  HeadConfig head;
  head.output = Output::vocabulary;
  head.dense = {transform};
  head.projection = config.flag("tie_word_embeddings", true) ? encoder.front.tokens : own;
  head.out = encoder.front.vocabulary;
  return head;
}

HeadConfig sequence_classifier(const ConfigReader& config, std::vector<DenseConfig> dense,
                               const std::string& projection) {
  HeadConfig head;
  head.output = Output::sequence_classes;
  head.rows = HeadConfig::Rows::first;
  head.dense = std::move(dense);
  head.projection = projection;
  head.out = label_count(config);
  head.bias = projection + ".bias";
  return head;
}

HeadConfig token_classifier(const ConfigReader& config, const std::string& projection) {
  HeadConfig head;
  head.output = Output::token_classes;
  head.projection = projection;
  head.out = label_count(config);
  head.bias = projection + ".bias";
  return head;
}

HeadConfig question_answering(const std::string& projection) {
  HeadConfig head;
  head.output = Output::span;
  head.projection = projection;
  head.out = 2;
  head.bias = projection + ".bias";
  return head;
}

NameRules encoder_names(const std::string& prefix) {
  NameRules names;
  names.prefixes = {prefix};
  names.endings = {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
  names.ignored = {"embeddings.position_ids", "embeddings.token_type_ids"};
  return names;
}

void initialise_normal(nn::BlockConfig& block, double deviation) {
  const Initialisation normal{Initialisation::Kind::normal, deviation};
  for (nn::AttentionConfig* attention : {&block.self, &block.cross})
    attention->initial = attention->output_initial = normal;
  block.feed_forward.initial = block.feed_forward.output_initial = normal;
}

}  // namespace regard::families
