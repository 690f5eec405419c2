#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"
#include "models/transformer.h"
#include "models/transformer_fields.h"
#include "regard/error.h"

namespace regard::models {
namespace {

using Choices = std::vector<std::string>;
using transformer::Key;
using transformer::visit_fields;

// Return true if a model of this kind has the key. (Only layer counts and source_vocabulary differ by kind.)
bool applies(const TransformerConfig& config, std::string_view key) {
  const bool both = config.kind == "encoder-decoder";
  if (key == "layers") return !both;
  if (key == "encoder_layers" || key == "decoder_layers" || key == "source_vocabulary") return both;
  return true;
}

std::string joined(const Choices& choices) {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : ", ") + choice;
  return text;
}

Error wrong(std::string_view key, const std::string& found, const std::string& expected) {
  return usage_error("invalid value of the model's " + std::string(key)).found(found).expected(expected);
}

void refuse_unknown_keys(const Json& json, const TransformerConfig& config, const std::string& file) {
  std::vector<std::string> known;
  visit_fields(config, [&](const Key& key, const auto&) {
    if (applies(config, key.name)) known.emplace_back(key.name);
  });
  for (const auto& [key, value] : json.items()) {
    if (key == "model_type" || key == "architectures" || key == "transformers_version") continue;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    Error error = file_error(file, "a model of kind " + config.kind + " has no key \"" + key + "\"")
                      .expected(joined(known));
    if (const std::string_view near = nearest(key, known); !near.empty())
      error.remedy("Did you mean \"" + std::string(near) + "\"?");
    throw error;
  }
}

}  // namespace

std::int64_t TransformerConfig::encoder_count() const {
  return kind == "encoder-decoder" ? encoder_layers : kind == "encoder" ? layers : 0;
}

std::int64_t TransformerConfig::decoder_count() const {
  return kind == "encoder-decoder" ? decoder_layers : kind == "decoder" ? layers : 0;
}

bool TransformerConfig::scales_embeddings() const {
  return scale_embeddings == "yes" || (scale_embeddings == "auto" && positions == "sinusoidal");
}

TransformerConfig TransformerConfig::from_json(const Json& json, const std::string& file) {
  TransformerConfig config;
  if (const auto type = optional_value<std::string>(json, "model_type", file);
      type && *type != kTransformerType)
    throw file_error(file, "the configuration belongs to another family")
        .found(*type)
        .expected(kTransformerType);
  if (const auto kind = optional_value<std::string>(json, "kind", file)) config.kind = *kind;
  refuse_unknown_keys(json, config, file);
  visit_fields(config, [&](const Key& key, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if (const auto given = optional_value<Value>(json, key.name, file)) value = *given;
  });
  if (!json.contains("vocabulary")) throw file_error(file, "the key \"vocabulary\" is missing");
  try {
    config.check();
  } catch (const Error& error) {
    throw file_error(file, error.what());
  }
  return config;
}

Json TransformerConfig::to_json() const {
  Json json = Json::object();
  json["model_type"] = kTransformerType;
  visit_fields(*this, [&](const Key& key, const auto& value) {
    if (applies(*this, key.name)) json[key.name] = value;
  });
  return json;
}

void TransformerConfig::check() const {
  visit_fields(*this, [&](const Key& key, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>)
      if (std::find(key.choices.begin(), key.choices.end(), value) == key.choices.end())
        throw wrong(key.name, "\"" + value + "\"", joined(key.choices));
  });
  const auto in_range = [](std::string_view key, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      throw wrong(key, std::to_string(value), std::to_string(low) + " to " + std::to_string(high));
  };
  constexpr std::int64_t kLargest = 1 << 24;
  in_range("vocabulary", vocabulary, 1, kLargest);
  in_range("source_vocabulary", source_vocabulary, 0, kLargest);
  in_range("encoder_layers", encoder_layers, 1, 1024);
  in_range("decoder_layers", decoder_layers, 1, 1024);
  in_range("layers", layers, 1, 1024);
  in_range("hidden_size", hidden_size, 1, 1 << 20);
  in_range("heads", heads, 1, hidden_size);
  in_range("kv_heads", kv_heads, 0, heads);
  in_range("head_size", head_size, 0, 1 << 16);
  in_range("feed_forward_size", feed_forward_size, 1, kLargest);
  in_range("max_positions", max_positions, positions == "learned" ? 1 : 0, 1 << 30);
  if (kv_heads > 0 && heads % kv_heads != 0)
    throw wrong("kv_heads", std::to_string(kv_heads), "a divisor of " + std::to_string(heads) + " heads");
  if (head_size == 0 && hidden_size % heads != 0)
    throw wrong("heads", std::to_string(heads), "a divisor of hidden_size " + std::to_string(hidden_size));
  if (positions == "rotary" && (head_size > 0 ? head_size : hidden_size / heads) % 2 != 0)
    throw wrong("positions", "rotary with an odd head size", "an even head size");
  if (tie_embeddings == "all" && source_vocabulary != 0 && source_vocabulary != vocabulary)
    throw wrong("tie_embeddings", "all, with two vocabularies", "decoder or none");
  if (!(norm_epsilon > 0.0 && norm_epsilon < 1.0))
    throw wrong("norm_epsilon", std::to_string(norm_epsilon), "a number between 0 and 1");
  if (!(rotary_base > 1.0)) throw wrong("rotary_base", std::to_string(rotary_base), "a number above 1");
  const auto is_rate = [](std::string_view key, double rate, bool may_be_negative) {
    if (!((rate >= 0.0 && rate < 1.0) || (may_be_negative && rate < 0.0)))
      throw wrong(key, std::to_string(rate), "at least 0 and less than 1");
  };
  is_rate("dropout", dropout, false);
  is_rate("attention_dropout", attention_dropout, true);
  is_rate("activation_dropout", activation_dropout, true);
  const auto is_id = [&](std::string_view key, std::int64_t id) { in_range(key, id, -1, kLargest - 1); };
  is_id("pad_token_id", pad_token_id), is_id("bos_token_id", bos_token_id);
  is_id("eos_token_id", eos_token_id), is_id("decoder_start_token_id", decoder_start_token_id);
}

}  // namespace regard::models
