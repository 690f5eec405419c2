#include "models/families/encoder_heads.h"
#include "ops/parameter.h"

namespace regard::models::families {

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

float classifier_dropout(const ConfigReader& config) {
  return config.rate("classifier_dropout", config.rate("hidden_dropout_prob", 0.1f));
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
  if (!head.dense.empty()) head.dropout = classifier_dropout(config);
  return head;
}

HeadConfig last_token_classifier(const ConfigReader& config, std::int64_t padding_id) {
  HeadConfig head = sequence_classifier(config, {}, "score");
  head.rows = HeadConfig::Rows::last;
  head.padding = padding_id;
  head.bias.clear();
  return head;
}

HeadConfig token_head(const ConfigReader& config, const std::string& kind) {
  HeadConfig head;
  if (kind.ends_with("ForTokenClassification")) {
    head.output = Output::token_classes, head.projection = "classifier", head.out = label_count(config);
    head.dropout = classifier_dropout(config);
  } else if (kind.ends_with("ForQuestionAnswering")) {
    head.output = Output::span, head.projection = "qa_outputs", head.out = 2;
  } else {
    return head;
  }
  head.bias = head.projection + ".bias";
  return head;
}

void set_roberta_head(const ConfigReader& config, const std::string& kind, const std::string& family,
                      const std::string& prefix, Architecture& all) {
  const auto dense = [&](const std::string& name, kernels::Activation activation) {
    return DenseConfig{name, all.hidden, activation, true, "", all.encoder->block.norm};
  };
  const bool base = kind == family + "Model", predicts = kind == family + "ForMaskedLM";
  const DenseConfig pooler = dense((base ? "" : prefix) + "pooler.dense", kernels::Activation::tanh);
  if (base) {
    all.head = pooled(pooler);
  } else if (predicts) {
    DenseConfig transform = dense("lm_head.dense", kernels::Activation::gelu);
    transform.norm = "lm_head.layer_norm";
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == family + "ForSequenceClassification") {
    all.head = sequence_classifier(config, {dense("classifier.dense", kernels::Activation::tanh)},
                                   "classifier.out_proj");
    all.head.input_dropout = all.head.dropout;
  } else {
    all.head = token_head(config, kind);
  }
  all.names = encoder_names(prefix);
  all.names.ignored.push_back(base ? "lm_head." : "pooler.dense.");
  if (!base) all.pooler = pooler;
  if (predicts) name_projection(config, "lm_head.decoder", "lm_head.bias", all);
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
  if (padding < 0) throw config.wrong("pad_token_id", "a token id, because positions are counted from it");
  input.first_position = padding + 1;
  input.position_padding = padding;
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
  if (block.adapter) block.adapter->initial = block.adapter->output_initial = normal;
}

}  // namespace regard::models::families
