#include "models/families/encoder_heads.h"

namespace regard::families {

HeadConfig pooled(const DenseConfig& dense) {
  HeadConfig head;
  head.output = Output::pooled;
  head.rows = HeadConfig::Rows::first;
  head.dense = {dense};
  head.optional = true;
  return head;
}

HeadConfig masked_language_model(const StackConfig& encoder, const DenseConfig& transform) {
  HeadConfig head;
  head.output = Output::vocabulary;
  head.dense = {transform};
  head.out = encoder.input.vocabulary;
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

void name_projection(const ConfigReader& config, const std::string& projection, const std::string& bias,
                     Architecture& all) {
  const std::string own_bias = projection + ".bias", tokens = all.encoder->input.tokens;
  const bool named = !bias.empty();
  if (config.flag("tie_word_embeddings", true)) {
    all.head.projection = tokens;
    all.head.bias = named ? bias : own_bias;
    all.names.copies.emplace_back(tokens + ".weight", projection + ".weight");
    if (named) all.names.copies.emplace_back(bias, own_bias);
    return;
  }
  all.head.projection = projection;
  all.head.bias = own_bias;
  if (!named) return;
  all.names.instead.emplace_back(own_bias, bias);
  all.names.ignored.push_back(bias);
}

void count_positions_over_tokens(const ConfigReader& config, std::int64_t padding, Architecture& all) {
  InputEmbeddingConfig& input = all.encoder->input;
  if (padding < 0) throw config.wrong("pad_token_id", "pad_token_id, from which positions are counted");
  input.first_position = padding + 1;
  all.max_positions = input.position_rows - input.first_position;
  if (all.max_positions < 1)
    throw config.wrong("max_position_embeddings", "more than pad_token_id + 1, the first position");
  all.positions = {true, padding, input.first_position};
}

void initialise_normal(nn::BlockConfig& block, double deviation) {
  const Initialisation normal{Initialisation::Kind::normal, deviation};
  for (nn::AttentionConfig* attention : {&block.self, &block.cross})
    attention->initial = attention->output_initial = normal;
  block.feed_forward.initial = block.feed_forward.output_initial = normal;
}

}  // namespace regard::families
