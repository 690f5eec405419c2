#include "train/sequence_keys.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "regard/error.h"
#include "train/run_config.h"
#include "train/tokenizers.h"

namespace regard::train {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Return true if the run's family uses the key. Do not call this for the keys of [model] that every family
// uses: family, from, vectors, freeze_vectors, hidden_size, dropout and the numbers of layers.
bool reads(const RunConfig& config, const std::string& key) {
  const std::string& family = config.model.family;
  const bool recurrent = family == "rnn" || family == "lstm" || family == "gru",
             search = family == "rnn-search";
  const bool predicts = config.task == "language-model" || config.task == "translation";
  if (key == "embedding_size") return true;
  if (key == "bidirectional") return search || (recurrent && !predicts);
  if (key == "nonlinearity") return family == "rnn";
  if (key == "filter_widths") return family == "cnn";
  if (key == "pooling") return config.task == "classification";
  if (key == "attention" || key == "cell") return search;
  if (key == "tie_embeddings") return predicts;
  return false;
}

const Names& own_keys() {
  static const Names keys{"embedding_size", "bidirectional", "nonlinearity", "filter_widths",
                          "pooling",        "attention",     "cell"};
  return keys;
}

Json whole_numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) {
    if (value != std::floor(value) || value < 1 || value > 1e6)
      throw usage_error("'model.filter_widths' has a value that is not a whole number or is out of range")
          .found(std::to_string(value))
          .expected("a whole number from 1 to 1000000 (tokens)");
    list.push_back(static_cast<std::int64_t>(value));
  }
  return list;
}

}  // namespace

void add_sequence_fields(std::vector<Field>& list, SequenceKeys& keys) {
  const auto add = [&list](const char* key, FieldTarget target, const char* meaning) -> Field& {
    list.push_back({.section = "model", .key = key, .target = target, .meaning = meaning});
    return list.back();
  };
  Field& size = add("embedding_size", &keys.embedding_size, "Size of the embedding; 0 means hidden_size.");
  size.low = 0, size.high = 1 << 20;
  add("bidirectional", &keys.bidirectional,
      "Read texts (rnn-search: sources) in both directions, each with hidden_size / 2 features.");
  add("nonlinearity", &keys.nonlinearity, "Activation of the family rnn.").choices = {"tanh", "relu"};
  Field& widths =
      add("filter_widths", &keys.filter_widths,
          "Widths of the filters of the family cnn. There are hidden_size filters of each width.");
  widths.unit = "tokens", widths.low = 1, widths.high = 256;
  add("pooling", &keys.pooling,
      "State that classifies a text: the last (of both directions), the mean or the maximum over its tokens; "
      "auto: mean for mlp, max for cnn, last for all other families.")
      .choices = {"auto", "last", "mean", "max"};
  add("attention", &keys.attention,
      "Attention of rnn-search: additive (Bahdanau et al. 2015), multiplicative (Luong et al. 2015) or none "
      "(Sutskever et al. 2014).")
      .choices = {"additive", "multiplicative", "none"};
  add("cell", &keys.cell, "Recurrent layer of rnn-search.").choices = {"rnn", "lstm", "gru"};
}

const std::vector<std::string>& sequence_families() {
  static const Names names{"mlp", "cnn", "rnn", "lstm", "gru", "rnn-search"};
  return names;
}

bool is_sequence_family(const std::string& family) {
  return contains(sequence_families(), family);
}

std::string why_unused_in_sequence_model(const RunConfig& config, const std::string& key) {
  static const Names common{"family",         "from",           "vectors", "freeze_vectors", "hidden_size",
                            "encoder_layers", "decoder_layers", "layers",  "dropout"};
  if (contains(common, key)) return "";
  if (is_sequence_family(config.model.family))
    return reads(config, key) ? ""
                              : "runs of the task '" + config.task + "' with 'model.family' \"" +
                                    config.model.family + "\" do not read it";
  return contains(own_keys(), key) ? "'model.family' is \"" + config.model.family + "\"" : "";
}

Json sequence_model_json(const RunConfig& config, std::int64_t vocabulary, const SpecialIds& special) {
  const ModelConfig& model = config.model;
  const SequenceKeys& keys = model.sequence;
  Json json{
      {"model_type", "regard-" + model.family},
      {"vocabulary", vocabulary},
      {"hidden_size", model.transformer.hidden_size},
      {"embedding_size", keys.embedding_size == 0 ? model.transformer.hidden_size : keys.embedding_size},
      {"layers", model.family == "rnn-search" ? model.transformer.decoder_layers : model.transformer.layers},
      {"dropout", model.transformer.dropout}};
  if (model.family == "rnn-search") json["encoder_layers"] = model.transformer.encoder_layers;
  if (reads(config, "bidirectional")) json["bidirectional"] = keys.bidirectional;
  if (reads(config, "nonlinearity")) json["nonlinearity"] = keys.nonlinearity;
  if (reads(config, "filter_widths")) json["filter_widths"] = whole_numbers(keys.filter_widths);
  if (reads(config, "pooling") && keys.pooling != "auto") json["pooling"] = keys.pooling;
  if (reads(config, "attention")) json["attention"] = keys.attention;
  if (reads(config, "cell")) json["cell"] = keys.cell;
  if (reads(config, "tie_embeddings")) json["tie_embeddings"] = model.transformer.tie_embeddings != "none";
  for (const auto& [key, id] :
       {std::pair("pad_token_id", special.pad), std::pair("bos_token_id", special.begin),
        std::pair("eos_token_id", special.end)})
    if (id >= 0) json[key] = id;
  return json;
}

}  // namespace regard::train
