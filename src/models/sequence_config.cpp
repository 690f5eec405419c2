#include "models/sequence_config.h"

#include <algorithm>

#include "base/json.h"
#include "models/families/config_reader.h"
#include "regard/error.h"

namespace regard::models {
namespace {

using families::ConfigReader;

constexpr std::pair<const char*, const char*> kTypes[] = {
    {"regard-mlp", "Mlp"},   {"regard-cnn", "Cnn"}, {"regard-rnn", "Rnn"},
    {"regard-lstm", "Lstm"}, {"regard-gru", "Gru"}, {"regard-rnn-search", "RnnSearch"}};

constexpr std::size_t kMostWidths = 16;
constexpr std::int64_t kWidestFilter = 256;  // maximum width of a filter in tokens

// Return the choice that the value of `key` names. Throws bad_file if it is not one of `choices`.
template <class Choice>
Choice chosen(const ConfigReader& reader, const char* key, const char* fallback,
              std::initializer_list<std::pair<const char*, Choice>> choices) {
  const std::string word = reader.word(key, fallback);
  std::string expected;
  for (const auto& [name, choice] : choices) {
    if (word == name) return choice;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  throw reader.wrong(key, expected);
}

kernels::Cell cell_of(const ConfigReader& reader, const std::string& family) {
  using kernels::Cell;
  if (family == "lstm") return Cell::lstm;
  if (family == "gru") return Cell::gru;
  if (family == "rnn")
    return chosen<Cell>(reader, "nonlinearity", "tanh", {{"tanh", Cell::tanh}, {"relu", Cell::relu}});
  return chosen<Cell>(reader, "cell", "gru", {{"rnn", Cell::tanh}, {"lstm", Cell::lstm}, {"gru", Cell::gru}});
}

void read_widths(const ConfigReader& reader, SequenceConfig& config) {
  const auto widths =
      optional_value<std::vector<std::int64_t>>(reader.json(), "filter_widths", reader.file());
  config.filter_widths = widths.value_or(std::vector<std::int64_t>{3, 4, 5});
  bool right = !config.filter_widths.empty() && config.filter_widths.size() <= kMostWidths;
  for (const std::int64_t width : config.filter_widths) right = right && width >= 1 && width <= kWidestFilter;
  // Weights are named after the width of their filter, so widths must differ.
  std::vector<std::int64_t> sorted = config.filter_widths;
  std::sort(sorted.begin(), sorted.end());
  right = right && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (!right) throw reader.wrong("filter_widths", "1 to 16 different widths of 1 to 256 tokens");
}

void read_head(const ConfigReader& reader, const std::string& prefix, SequenceConfig& config) {
  const auto classes =
      optional_value<std::vector<std::string>>(reader.json(), "architectures", reader.file());
  const std::string name = classes && !classes->empty() ? classes->front() : "";
  const bool search = config.family == "rnn-search";
  if (search && name == prefix + "ForConditionalGeneration") {
    config.output = Output::next_token;
  } else if (!search && name == prefix + "ForSequenceClassification") {
    config.output = Output::sequence_classes, config.labels = families::label_count(reader);
  } else if (!search && name == prefix + "ForTokenClassification") {
    config.output = Output::token_classes, config.labels = families::label_count(reader);
  } else if (config.is_recurrent() && name == prefix + "ForCausalLM") {
    config.output = Output::next_token;
    if (config.bidirectional)
      throw reader.wrong("bidirectional", "false, because the model predicts the next token");
  } else {
    const std::string heads = search ? "ForConditionalGeneration"
                              : config.is_recurrent()
                                  ? "ForSequenceClassification, ForTokenClassification or ForCausalLM"
                                  : "ForSequenceClassification or ForTokenClassification";
    throw reader.wrong("architectures", prefix + heads);
  }
}

}  // namespace

std::vector<std::string> sequence_types() {
  std::vector<std::string> types;
  for (const auto& [type, prefix] : kTypes) types.emplace_back(type);
  return types;
}

std::string sequence_class(const std::string& model_type) {
  for (const auto& [type, prefix] : kTypes)
    if (model_type == type) return prefix;
  return "";
}

bool is_sequence_type(const std::string& model_type) {
  return !sequence_class(model_type).empty();
}

SequenceConfig read_sequence_config(const Json& json, const std::string& file) {
  using Pooling = SequenceConfig::Pooling;
  using Attention = SequenceConfig::Attention;
  const ConfigReader reader(json, file);
  const auto type = require<std::string>(json, "model_type", file);
  SequenceConfig config;
  config.family = type.substr(std::string_view("regard-").size());
  config.vocabulary = reader.size("vocabulary");
  config.source_vocabulary = reader.size("source_vocabulary", config.vocabulary);
  config.shared_vocabulary = reader.flag("shared_vocabulary", false);
  if (config.shared_vocabulary && config.source_vocabulary != config.vocabulary)
    throw reader.wrong("source_vocabulary", "the value of vocabulary, because source and target share it");
  families::check_common(reader, config.vocabulary);
  config.hidden = reader.size("hidden_size");
  config.embedding = reader.size("embedding_size", config.hidden);
  config.layers = reader.layers("layers");
  config.encoder_layers = reader.has("encoder_layers") ? reader.layers("encoder_layers") : config.layers;
  config.bidirectional = reader.flag("bidirectional", false);
  config.cell = cell_of(reader, config.family);
  config.dropout = reader.rate("dropout", 0.0f);
  config.tied = reader.flag("tie_embeddings", false);
  if (config.bidirectional && config.hidden % 2 != 0)
    throw reader.wrong("hidden_size", "an even number, because each direction has half of it");
  if (config.tied && config.embedding != config.hidden)
    throw reader.wrong("embedding_size", "hidden_size, because the output projection is the embedding");
  if (config.family == "cnn") read_widths(reader, config);
  config.pooling = chosen<Pooling>(reader, "pooling",
                                   config.family == "mlp"   ? "mean"
                                   : config.family == "cnn" ? "max"
                                                            : "last",
                                   {{"last", Pooling::last}, {"mean", Pooling::mean}, {"max", Pooling::max}});
  config.attention = chosen<Attention>(reader, "attention", "additive",
                                       {{"none", Attention::none},
                                        {"additive", Attention::additive},
                                        {"multiplicative", Attention::multiplicative}});
  read_head(reader, sequence_class(type), config);
  return config;
}

}  // namespace regard::models
