#include "infer/folder_options.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"
#include "infer/generation_settings.h"
#include "infer/loaded_model.h"
#include "infer/transformers_folder.h"
#include "regard/error.h"

namespace regard::infer {
namespace {

// Read the value of `key`: one id or a list of ids.
void read_ids(const GenerationSettings& settings, const char* key, std::vector<std::int32_t>& ids) {
  const Json* value = settings.find(key);
  if (value == nullptr) return;
  if (value->is_array())
    ids = json_as<std::vector<std::int32_t>>(*value, key, settings.file(key));
  else
    ids = {json_as<std::int32_t>(*value, key, settings.file(key))};
}

void read_end_tokens(const GenerationSettings& settings, SearchOptions& options) {
  read_ids(settings, kEndTokens, options.end_tokens);
  std::erase_if(options.end_tokens, [](std::int32_t id) { return id < 0; });
}

void read_early_stopping(const GenerationSettings& settings, SearchOptions& options) {
  constexpr const char* kKey = "early_stopping";
  const Json* value = settings.find(kKey);
  if (value == nullptr) return;
  if (value->is_string() && value->get<std::string>() == "never")
    options.early_stopping = EarlyStopping::never;
  else
    options.early_stopping =
        json_as<bool>(*value, kKey, settings.file(kKey)) ? EarlyStopping::yes : EarlyStopping::no;
}

void read_biases(const GenerationSettings& settings, TokenRules& rules) {
  constexpr const char* kKey = "sequence_bias";
  const Json* value = settings.find(kKey);
  if (value == nullptr) return;
  const std::string file = settings.file(kKey);
  for (const Json& entry : json_as<std::vector<Json>>(*value, kKey, file)) {
    if (!entry.is_array() || entry.size() != 2)
      throw file_error(file, "an entry of \"sequence_bias\" is not a pair")
          .found(describe(entry))
          .expected("[[IDS], BIAS]");
    auto tokens = json_as<std::vector<std::int32_t>>(entry[0], kKey, file);
    const auto bias = json_as<double>(entry[1], kKey, file);
    std::erase_if(rules.biases, [&](const SequenceBias& other) { return other.tokens == tokens; });
    rules.biases.push_back({std::move(tokens), bias});
  }
}

void read_ending(const GenerationSettings& settings, TokenRules& rules) {
  constexpr const char* kKey = "exponential_decay_length_penalty";
  const Json* value = settings.find(kKey);
  if (value == nullptr) return;
  if (!value->is_array() || value->size() != 2)
    throw file_error(settings.file(kKey), std::string("\"") + kKey + "\" is not a pair")
        .found(describe(*value))
        .expected("[START, FACTOR]");
  rules.ending = EndingPressure{json_as<std::int64_t>((*value)[0], kKey, settings.file(kKey)),
                                json_as<double>((*value)[1], kKey, settings.file(kKey))};
}

void read_rules(const GenerationSettings& settings, TokenRules& rules) {
  settings.read("encoder_repetition_penalty", rules.encoder_repetition_penalty);
  settings.read("repetition_penalty", rules.repetition_penalty);
  settings.read("no_repeat_ngram_size", rules.no_repeat_ngram);
  settings.read("encoder_no_repeat_ngram_size", rules.encoder_no_repeat_ngram);
  settings.read("bad_words_ids", rules.bad_words);
  settings.read("min_length", rules.min_length);
  settings.read("min_new_tokens", rules.min_new);
  settings.read("forced_bos_token_id", rules.forced_first);
  read_ids(settings, "forced_eos_token_id", rules.forced_last);
  read_ids(settings, "suppress_tokens", rules.suppressed);
  read_ids(settings, "begin_suppress_tokens", rules.suppressed_first);
  settings.read("renormalize_logits", rules.renormalise);
  read_biases(settings, rules);
  read_ending(settings, rules);
}

// Return the settings that replace a missing generation_config.json, as in transformers: all keys of
// config.json, and the keys that only its object "decoder", "generator" or "text_config" has.
Json generation_config_from(const Json& config) {
  Json settings = config;
  // early BART folders have this key instead of forced_bos_token_id
  if (config.value("force_bos_token_to_be_generated", Json()) == true)
    settings["forced_bos_token_id"] = config.value("bos_token_id", Json());
  for (const char* part : {"decoder", "generator", "text_config"}) {
    const auto found = config.find(part);
    if (found == config.end() || !found->is_object() || found->empty()) continue;
    for (const auto& [key, value] : found->items())
      if (settings.value(key, Json()).is_null()) settings[key] = value;
    break;
  }
  return settings;
}

// `asked`: see GenerationSettings.
SearchOptions read_options(const formats::ModelFolder& folder, std::set<std::string>* asked) {
  const GenerationSettings tokens(folder, false, asked), settings(folder, true, asked);
  SearchOptions options;
  tokens.read("bos_token_id", options.start_token);
  tokens.read("decoder_start_token_id", options.start_token);
  tokens.read("pad_token_id", options.pad_token);
  read_end_tokens(tokens, options);
  read_early_stopping(settings, options);
  read_rules(settings, options.rules);
  settings.read("num_beams", options.beam);
  settings.read("num_return_sequences", options.n_best);
  settings.read("length_penalty", options.length_penalty);
  settings.read("do_sample", options.sample);
  if (options.sample) {
    options.beam = 1;
    options.top_k = 50;  // default value of top_k in transformers
  }
  settings.read("temperature", options.temperature);
  settings.read("top_k", options.top_k);
  settings.read("top_p", options.top_p);
  settings.read("min_p", options.min_p);
  settings.read("typical_p", options.typical_p);
  settings.read("epsilon_cutoff", options.epsilon);
  settings.read("eta_cutoff", options.eta);
  std::int64_t max_length = 0;
  settings.read("max_length", max_length);
  // The value of max_length counts the decoder's start token and, for a decoder-only model, the prompt.
  const bool encoder = tokens.find("decoder_start_token_id") != nullptr;
  if (encoder && max_length > 1) options.max_new = max_length - 1;
  if (!encoder) options.max_length = std::max<std::int64_t>(0, max_length);
  settings.read("max_new_tokens", options.max_new);
  return options;
}

}  // namespace

void complete_settings(formats::ModelFolder& folder) {
  if (!folder.generation_config) folder.generation_config = generation_config_from(folder.config);
}

SearchOptions read_search_options(const formats::ModelFolder& folder) {
  return read_options(folder, nullptr);
}

void check_setting_names(const Json& values, const std::string& option) {
  std::set<std::string> known{kStopStrings, kNormalizeWhitespace, kAutomaticLength};
  formats::ModelFolder nothing;
  nothing.config = Json::object();
  read_options(nothing, &known);
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, value] : values.items()) {
    if (known.contains(key)) continue;
    Error error = usage_error(option + " names a key without effect").found("\"" + key + "\"");
    const std::string_view similar = nearest(key, names);
    throw similar.empty() ? error.expected("a key of generation_config.json that changes the search")
                          : error.expected("\"" + std::string(similar) + "\"");
  }
}

SearchOptions search_options_of(const formats::ModelFolder& folder) {
  formats::ModelFolder completed = folder;
  complete_settings(completed);
  return read_search_options(completed);
}

}  // namespace regard::infer
