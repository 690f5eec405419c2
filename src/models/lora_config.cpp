#include "models/lora_config.h"

#include <algorithm>
#include <cmath>

#include "base/regular_expression.h"
#include "regard/error.h"

namespace regard::models {
namespace {

constexpr const char* kAllLinear = "all-linear";

Error wrong(const std::string& file, const std::string& what) {
  return file.empty() ? usage_error(what) : file_error(file, what);
}

// Return an expression for names that end with a match of `pattern`.
std::string ending_with(const std::string& pattern) {
  return "(.*\\.)?(" + pattern + ")";
}

bool names(const std::vector<std::string>& list, const std::string& module) {
  return std::any_of(list.begin(), list.end(), [&module](const std::string& name) {
    return module == name || module.ends_with("." + name);
  });
}

// Return the value of the first pattern that matches the end of the module's name, or `usual` if none does.
// PEFT's get_pattern_key selects the same pattern.
template <class T>
T by_pattern(const std::vector<std::pair<std::string, T>>& patterns, const std::string& module, T usual,
             const std::string& file) {
  for (const auto& [pattern, value] : patterns)
    if (RegularExpression(ending_with(pattern), file).matches(module)) return value;
  return usual;
}

// Return the values of a key that holds a list, a single value or null.
template <class T>
std::vector<T> list_of(const Json& json, const char* key, const std::string& file) {
  const auto value = optional_value<Json>(json, key, file);
  if (!value) return {};
  if (value->is_array()) return json_as<std::vector<T>>(*value, key, file);
  return {json_as<T>(*value, key, file)};
}

template <class T>
std::vector<std::pair<std::string, T>> patterns_of(const Json& json, const char* key,
                                                   const std::string& file) {
  std::vector<std::pair<std::string, T>> patterns;
  const auto value = optional_value<Json>(json, key, file);
  if (!value) return patterns;
  if (!value->is_object())
    throw file_error(file, std::string("\"") + key + "\" is not an object").found(value->dump());
  for (const auto& [pattern, number] : value->items())
    patterns.emplace_back(pattern, json_as<T>(number, key, file));
  return patterns;
}

bool is_set(const Json& value) {
  if (value.is_null() || (value.is_boolean() && !value.get<bool>())) return false;
  return !((value.is_object() || value.is_array() || value.is_string()) && value.empty());
}

// Throw bad_file if the adapter uses a variant or option of LoRA that is not supported.
void refuse_other_forms(const Json& json, const std::string& file) {
  for (const char* key : {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication",
                          "target_parameters", "trainable_token_indices", "alora_invocation_tokens",
                          "arrow_config", "kasa_config", "velora_config", "monteclora_config"})
    if (const auto value = optional_value<Json>(json, key, file); value && is_set(*value))
      throw file_error(file, std::string("the adapter uses \"") + key + "\", which is not supported")
          .found(value->dump())
          .expected("plain LoRA")
          .remedy("Merge the adapter into its base model with PEFT, and open the merged folder");
}

template <class T>
Json json_of(const std::vector<std::pair<std::string, T>>& patterns) {
  Json object = Json::object();
  for (const auto& [pattern, value] : patterns) object[pattern] = value;
  return object;
}

template <class T>
Json or_null(const std::vector<T>& list) {
  return list.empty() ? Json(nullptr) : Json(list);
}

}  // namespace

bool LoraConfig::saves(const std::string& module) const {
  return std::any_of(modules_to_save.begin(), modules_to_save.end(), [&module](const std::string& name) {
    // As in PEFT, `name` may be any ending of the module's name or of the name of a containing module:
    // "classifier" also selects "pre_classifier".
    return (module + ".").find(name + ".") != std::string::npos;
  });
}

bool LoraConfig::adapts(const std::string& module, bool is_output) const {
  if (names(exclude, module) || saves(module)) return false;
  if (!exclude_pattern.empty() && RegularExpression(exclude_pattern, file).matches(module)) return false;
  if (!target_pattern.empty()) return RegularExpression(target_pattern, file).matches(module);
  if (targets == std::vector<std::string>{kAllLinear}) {
    if (is_output) return false;
  } else if (std::find(targets.begin(), targets.end(), module) != targets.end()) {
    return true;
  } else if (!names(targets, module)) {
    return false;
  }
  if (layers.empty()) return true;
  const std::vector<std::string> any{"[^.]*"};
  for (const std::string& pattern : layers_pattern.empty() ? any : layers_pattern) {
    // Without layers_pattern, PEFT requires a module name before the layer's index.
    const std::string start = layers_pattern.empty() ? ".*?\\." : "(?:.*?\\.)?";
    const RegularExpression layer(start + "(?:" + pattern + ")\\.[0-9]{1,9}\\.", file);
    if (const auto length = layer.match_at_start(module)) {
      const std::string name = module.substr(0, *length - 1);  // ends with the index
      const std::string index = name.substr(name.rfind('.') + 1);
      return std::find(layers.begin(), layers.end(), std::stoll(index)) != layers.end();
    }
  }
  return false;
}

std::int64_t LoraConfig::rank_of(const std::string& module) const {
  return by_pattern(rank_pattern, module, rank, file);
}

double LoraConfig::scale_of(const std::string& module, std::int64_t of_rank) const {
  const auto r = static_cast<double>(of_rank);
  return by_pattern(alpha_pattern, module, alpha, file) / (rslora ? std::sqrt(r) : r);
}

void LoraConfig::check() const {
  constexpr std::int64_t kHighestRank = 1 << 20;
  const auto check_rank = [this](std::int64_t value) {
    if (value < 1 || value > kHighestRank)
      throw wrong(file, "the rank of an adapter is out of range")
          .found(std::to_string(value))
          .expected("1 to " + std::to_string(kHighestRank));
  };
  check_rank(rank);
  for (const auto& [pattern, value] : rank_pattern) check_rank(value);
  for (const auto& [pattern, value] : rank_pattern) RegularExpression(ending_with(pattern), file);
  for (const auto& [pattern, value] : alpha_pattern) RegularExpression(ending_with(pattern), file);
  for (const std::string& pattern : layers_pattern) RegularExpression("(?:" + pattern + ")", file);
  RegularExpression(target_pattern, file), RegularExpression(exclude_pattern, file);
  if (bias != "none" && bias != "all" && bias != "lora_only")
    throw wrong(file, "an adapter's \"bias\" has an unknown value")
        .found("\"" + bias + "\"")
        .expected("none, all or lora_only");
}

LoraConfig LoraConfig::from_json(const Json& json, const std::string& file) {
  if (!json.is_object())
    throw file_error(file, "the configuration of the adapter is not a JSON object").found(describe(json));
  const auto type = require<std::string>(json, "peft_type", file);
  if (type != "LORA")
    throw file_error(file, "the adapter is not LoRA")
        .found("peft_type \"" + type + "\"")
        .expected("\"LORA\"");
  refuse_other_forms(json, file);
  LoraConfig config;
  config.file = file;
  config.rank = require<std::int64_t>(json, "r", file);
  config.alpha = require<double>(json, "lora_alpha", file);
  config.rslora = optional_value<bool>(json, "use_rslora", file).value_or(false);
  const auto targets = optional_value<Json>(json, "target_modules", file);
  if (targets && targets->is_string() && *targets != kAllLinear)
    config.target_pattern = targets->get<std::string>();
  else
    config.targets = list_of<std::string>(json, "target_modules", file);
  if (const auto exclude = optional_value<Json>(json, "exclude_modules", file);
      exclude && exclude->is_string())
    config.exclude_pattern = exclude->get<std::string>();
  else
    config.exclude = list_of<std::string>(json, "exclude_modules", file);
  config.rank_pattern = patterns_of<std::int64_t>(json, "rank_pattern", file);
  config.alpha_pattern = patterns_of<double>(json, "alpha_pattern", file);
  config.layers = list_of<std::int64_t>(json, "layers_to_transform", file);
  config.layers_pattern = list_of<std::string>(json, "layers_pattern", file);
  config.bias = optional_value<std::string>(json, "bias", file).value_or("none");
  config.modules_to_save = list_of<std::string>(json, "modules_to_save", file);
  config.base_model = optional_value<std::string>(json, "base_model_name_or_path", file).value_or("");
  config.check();
  return config;
}

Json LoraConfig::to_json(bool transposed, const std::string& task_type) const {
  Json json;
  json["alpha_pattern"] = json_of(alpha_pattern);
  json["auto_mapping"] = nullptr;
  json["base_model_name_or_path"] = base_model.empty() ? Json(nullptr) : Json(base_model);
  json["bias"] = bias;
  json["exclude_modules"] = exclude_pattern.empty() ? or_null(exclude) : Json(exclude_pattern);
  json["fan_in_fan_out"] = transposed;
  json["inference_mode"] = true;
  json["init_lora_weights"] = true;
  json["layers_pattern"] = layers_pattern.size() == 1 ? Json(layers_pattern[0]) : or_null(layers_pattern);
  json["layers_to_transform"] = or_null(layers);
  json["lora_alpha"] = alpha;
  json["lora_dropout"] = 0.0;
  json["modules_to_save"] = or_null(modules_to_save);
  json["peft_type"] = "LORA";
  json["r"] = rank;
  json["rank_pattern"] = json_of(rank_pattern);
  json["revision"] = nullptr;
  if (!target_pattern.empty())
    json["target_modules"] = target_pattern;
  else
    json["target_modules"] =
        targets == std::vector<std::string>{kAllLinear} ? Json(kAllLinear) : Json(targets);
  json["task_type"] = task_type.empty() ? Json(nullptr) : Json(task_type);
  json["use_dora"] = false;
  json["use_rslora"] = rslora;
  return json;
}

}  // namespace regard::models
