#include "models/families/config_reader.h"

#include <array>
#include <cmath>
#include <utility>

namespace regard::models::families {
namespace {

using kernels::Activation;

// The supported entries of ACT2FN in transformers/activations.py.
constexpr std::pair<const char*, Activation> kActivations[] = {
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_python_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_accurate", Activation::gelu_tanh},
    {"relu", Activation::relu},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"tanh", Activation::tanh},
    {"sigmoid", Activation::sigmoid},
    {"quick_gelu", Activation::quick_gelu},
};

}  // namespace

const Json* ConfigReader::find(std::string_view key) const {
  const auto found = config_.find(key);
  return found == config_.end() ? nullptr : &*found;
}

bool ConfigReader::has(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && !value->is_null();
}

Error ConfigReader::wrong(std::string_view key, const std::string& expected) const {
  const Json* value = find(key);
  return file_error(file_, "the value of \"" + std::string(key) + "\" is invalid")
      .found(value == nullptr ? "no such key" : describe(*value))
      .expected(expected);
}

std::int64_t ConfigReader::in_range(std::string_view key, std::int64_t low, std::int64_t high) const {
  return require_in<std::int64_t>(config_, key, file_, low, high);
}

std::int64_t ConfigReader::size(std::string_view key) const {
  return in_range(key, 1, kLargestSize);
}

std::int64_t ConfigReader::size(std::string_view key, std::int64_t fallback) const {
  return has(key) ? size(key) : fallback;
}

std::int64_t ConfigReader::layers(std::string_view key) const {
  return in_range(key, 1, kMostLayers);
}

std::int64_t ConfigReader::divisor(std::string_view key, std::int64_t whole,
                                   std::string_view whole_key) const {
  const std::int64_t value = size(key);
  if (whole % value != 0)
    throw wrong(key, "a divisor of " + std::string(whole_key) + ", " + std::to_string(whole));
  return value;
}

double ConfigReader::number(std::string_view key, double fallback, double low, double high) const {
  if (!has(key)) return fallback;
  const auto value = require<double>(config_, key, file_);
  if (!(value >= low && value <= high))
    throw wrong(key, "a number from " + Json(low).dump() + " to " + Json(high).dump());
  return value;
}

double ConfigReader::epsilon(std::string_view key, double fallback) const {
  const Json* given = find(key);
  if (given == nullptr) return fallback;
  const auto value = json_as<double>(*given, key, file_);
  if (!(value > 0.0 && value < 1.0)) throw wrong(key, "a number above 0 and below 1");
  return value;
}

float ConfigReader::rate(std::string_view key, float fallback) const {
  const double value = number(key, static_cast<double>(fallback), 0.0, 1.0);
  return std::min(static_cast<float>(value), 0.9999f);
}

bool ConfigReader::flag(std::string_view key, bool fallback) const {
  return optional_value<bool>(config_, key, file_).value_or(fallback);
}

std::string ConfigReader::word(std::string_view key, const std::string& fallback) const {
  return optional_value<std::string>(config_, key, file_).value_or(fallback);
}

Activation ConfigReader::activation(std::string_view key, const std::string& fallback) const {
  const Json* given = find(key);
  const std::string name = given == nullptr ? fallback : json_as<std::string>(*given, key, file_);
  std::string known;
  for (const auto& [candidate, activation] : kActivations) {
    if (name == candidate) return activation;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  throw wrong(key, known);
}

std::int64_t ConfigReader::token(std::string_view key, std::int64_t vocabulary) const {
  if (!has(key)) return -1;
  return in_range(key, -1, vocabulary - 1);
}

std::int64_t ConfigReader::padding(std::int64_t vocabulary, std::int64_t fallback) const {
  constexpr const char* kKey = "pad_token_id";
  if (find(kKey) != nullptr) return token(kKey, vocabulary);
  if (fallback >= vocabulary)
    throw wrong(kKey, "the key to be present, because the default value, " + std::to_string(fallback) +
                          ", is outside the vocabulary");
  return fallback;
}

void ConfigReader::only(std::string_view key, const Json& value, std::string_view what) const {
  const Json* given = find(key);
  if (given == nullptr || given->is_null() || *given == value) return;
  throw wrong(key, value.dump()).remedy(std::string(what) + " is not supported");
}

void check_common(const ConfigReader& config, std::int64_t vocabulary) {
  if (config.has("quantization_config"))
    throw config.wrong("quantization_config", "unquantised weights")
        .remedy("Use the unquantised original model");
  if (config.has("auto_map"))
    throw config.wrong("auto_map", "a model without custom code")
        .remedy("Code in a folder is never run. If the model belongs to a supported family, remove the key");
  config.only("per_layer_config", Json::object(), "A configuration for single layers");
  for (const char* key : {"pad_token_id", "bos_token_id", "decoder_start_token_id"})
    config.token(key, vocabulary);
  const auto end = config.json().find("eos_token_id");
  if (end != config.json().end() && end->is_array()) {
    for (const std::int64_t id : json_as<std::vector<std::int64_t>>(*end, "eos_token_id", config.file()))
      if (id < 0 || id >= vocabulary) throw config.wrong("eos_token_id", "ids of the vocabulary");
  } else {
    config.token("eos_token_id", vocabulary);
  }
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!config.has(key)) continue;
    const std::string dtype = config.word(key, "");
    constexpr std::array kKnown{"float32", "float16", "bfloat16", "float64", "auto"};
    if (std::find(kKnown.begin(), kKnown.end(), dtype) == kKnown.end())
      throw config.wrong(key, "float32, float16, bfloat16 or float64");
  }
}

std::string architecture_of(const ConfigReader& config, std::initializer_list<const char*> known) {
  if (!config.has("architectures")) return *known.begin();
  const auto given = require<std::vector<std::string>>(config.json(), "architectures", config.file());
  if (given.empty()) return *known.begin();
  std::string all;
  for (const char* name : known) {
    if (given[0] == name) return name;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw file_error(config.file(), "unsupported architecture of this family")
      .found("\"" + given[0] + "\"")
      .expected(all);
}

std::int64_t label_count(const ConfigReader& config) {
  if (!config.has("id2label")) return config.size("num_labels", 2);
  const auto labels = require<Json>(config.json(), "id2label", config.file());
  if (!labels.is_object() || labels.empty())
    throw config.wrong("id2label", "an object with the names of the classes");
  return std::ssize(labels);
}

}  // namespace regard::models::families
