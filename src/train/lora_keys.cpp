#include "train/lora_keys.h"

#include <cmath>

#include "base/parse_number.h"
#include "regard/error.h"

namespace regard::train {
namespace {

// Split "PATTERN=NUMBER" at the last '='.
std::pair<std::string, double> split(const std::string& entry, const char* key) {
  const std::size_t at = entry.rfind('=');
  const auto value = parse_number<double>(at == entry.npos ? "" : entry.substr(at + 1));
  if (!value || !std::isfinite(*value) || *value <= 0.0)
    throw usage_error(std::string("'lora.") + key + "' has an entry that is not PATTERN=NUMBER")
        .found("\"" + entry + "\"")
        .expected("a pattern and a number above 0, such as \"q_proj=4\"");
  return {entry.substr(0, at), *value};
}

std::int64_t whole(double value, const char* key) {
  if (value != std::floor(value) || value < 0.0 || value > 1e9)
    throw usage_error(std::string("'lora.") + key +
                      "' has a value that is not a whole number or is out of range")
        .found(std::to_string(value))
        .expected("a whole number from 0 to 1000000000");
  return static_cast<std::int64_t>(value);
}

}  // namespace

void add_lora_fields(std::vector<Field>& list, LoraKeys& keys) {
  const auto add = [&list](const char* key, FieldTarget target, const char* meaning) -> Field& {
    list.push_back({.section = "lora", .key = key, .target = target, .meaning = meaning});
    return list.back();
  };
  Field& rank = add("rank", &keys.rank,
                    "Train low-rank updates (LoRA) of this rank instead of the model's weights. Checkpoints "
                    "are PEFT folders too. 0 trains the model itself.");
  rank.low = 0, rank.high = 1 << 20;
  Field& alpha = add("alpha", &keys.alpha,
                     "An update is multiplied by alpha / rank. Default: 0, which means alpha = rank.");
  alpha.low = 0, alpha.high = 1e6;
  add("targets", &keys.targets,
      "Linear layers with an update: the ends of their names, such as \"q_proj\". \"all-linear\": all "
      "except the output layer.");
  add("rslora", &keys.rslora, "Multiply updates by alpha / sqrt(rank) instead of alpha / rank.");
  add("rank_pattern", &keys.rank_pattern,
      "Ranks of individual layers, as \"PATTERN=RANK\". PATTERN is a regular expression for the end of a "
      "layer's "
      "name.");
  add("alpha_pattern", &keys.alpha_pattern, "Alphas of individual layers, as \"PATTERN=ALPHA\".");
  add("layers", &keys.layers, "Indices of the layers with updates, from 0. Default: all.");
  add("layers_pattern", &keys.layers_pattern,
      "With `layers`: names of the lists of layers to which the indices apply, such as \"h\". Default: any.");
  add("bias", &keys.bias,
      "Biases to train in addition: none, all, or those of the layers with updates (lora_only).")
      .choices = {"none", "all", "lora_only"};
  add("modules_to_save", &keys.modules_to_save,
      "Modules that are trained completely and saved with the adapter, such as \"classifier\".");
}

LoraConfig lora_config(const LoraKeys& keys, const std::string& base_model) {
  LoraConfig config;
  config.rank = keys.rank;
  config.alpha = keys.alpha > 0.0 ? keys.alpha : static_cast<double>(keys.rank);
  config.targets = keys.targets;
  config.rslora = keys.rslora;
  for (const std::string& entry : keys.rank_pattern) {
    const auto [pattern, value] = split(entry, "rank_pattern");
    config.rank_pattern.emplace_back(pattern, whole(value, "rank_pattern"));
  }
  for (const std::string& entry : keys.alpha_pattern)
    config.alpha_pattern.push_back(split(entry, "alpha_pattern"));
  for (const double layer : keys.layers) config.layers.push_back(whole(layer, "layers"));
  config.layers_pattern = keys.layers_pattern;
  config.bias = keys.bias;
  config.modules_to_save = keys.modules_to_save;
  config.base_model = base_model;
  config.check();
  return config;
}

}  // namespace regard::train
