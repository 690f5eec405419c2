#include "tasks/whisper_tokens.h"

#include "base/json.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

// Reads ids and numbers from generation_config.json. id() uses the tokenizer's id if the key is missing.
class TokenFinder {
 public:
  explicit TokenFinder(const infer::LoadedModel& loaded)
      : settings_(loaded.folder.generation_config.value_or(Json::object())),
        file_((loaded.folder.path / "generation_config.json").string()),
        loaded_(loaded) {}

  std::int32_t id(const char* key, const char* token) const {
    if (const auto id = optional_value<std::int32_t>(settings_, key, file_)) return checked(*id, key);
    return loaded_.target->id_of(token).value_or(-1);
  }
  std::int64_t number(const char* key) const {
    return optional_value<std::int64_t>(settings_, key, file_).value_or(-1);
  }
  std::map<std::string, std::int32_t> ids(const char* key) const {
    std::map<std::string, std::int32_t> all;
    const auto found = settings_.find(key);
    if (found == settings_.end() || found->is_null()) return all;
    if (!found->is_object())
      throw file_error(file_, std::string("\"") + key + "\" is not an object")
          .found(describe(*found))
          .expected("an object that maps names to ids");
    for (const auto& [name, id] : found->items())
      all[name] = checked(json_as<std::int32_t>(id, key, file_), key);
    return all;
  }

 private:
  std::int32_t checked(std::int32_t id, const char* key) const {
    if (id >= 0 && id < loaded_.model->vocabulary()) return id;
    throw file_error(file_, std::string("\"") + key + "\" has an id outside the model's vocabulary")
        .found(std::to_string(id))
        .expected("an id from 0 to " + std::to_string(loaded_.model->vocabulary() - 1));
  }

  Json settings_;
  std::string file_;
  const infer::LoadedModel& loaded_;
};

}  // namespace

WhisperTokens WhisperTokens::of(const infer::LoadedModel& loaded) {
  const TokenFinder find(loaded);
  WhisperTokens tokens;
  tokens.start = loaded.options.start_token;
  if (!loaded.options.end_tokens.empty()) tokens.end = loaded.options.end_tokens[0];
  tokens.no_timestamps = find.id("no_timestamps_token_id", "<|notimestamps|>");
  if (tokens.start < 0 || tokens.end < 0 || tokens.no_timestamps < 1 || tokens.end >= tokens.no_timestamps ||
      tokens.first_time() >= loaded.model->vocabulary())
    throw usage_error("the model cannot transcribe: its vocabulary has no timestamp tokens")
        .expected("Whisper's special tokens (no_timestamps_token_id in generation_config.json)");
  tokens.no_speech = tokens.no_timestamps - 1;
  tokens.previous = find.id("prev_sot_token_id", "<|startofprev|>");
  for (const auto& [name, id] : find.ids("lang_to_id"))
    if (name.size() > 4 && name.starts_with("<|") && name.ends_with("|>"))
      tokens.languages[name.substr(2, name.size() - 4)] = id;
  const auto tasks = find.ids("task_to_id");
  const auto task = [&](const char* name) {
    const auto found = tasks.find(name);
    return found == tasks.end() ? -1 : found->second;
  };
  tokens.transcribe = task("transcribe"), tokens.translate = task("translate");
  tokens.latest_first = find.number("max_initial_timestamp_index");
  return tokens;
}

std::vector<std::int32_t> WhisperTokens::beginning(const std::string& language, bool translates,
                                                   bool timestamps) const {
  std::vector<std::int32_t> all{start};
  if (!language.empty()) {
    const auto found = languages.find(language);
    if (found == languages.end()) {
      std::string known;
      for (const auto& [code, id] : languages) known += (known.empty() ? "" : ", ") + code;
      throw usage_error("the model does not support this language")
          .found("\"" + language + "\"")
          .expected(known.empty() ? "no language, because the model supports only one" : "one of " + known);
    }
    all.push_back(found->second);
  }
  if (translates && translate < 0)
    throw usage_error("this model cannot translate: it supports only transcription");
  if (const std::int32_t task = translates ? translate : transcribe; task >= 0) all.push_back(task);
  if (!timestamps) all.push_back(no_timestamps);
  return all;
}

std::string WhisperTokens::code_of(std::int32_t language) const {
  for (const auto& [code, id] : languages)
    if (id == language) return code;
  return "";
}

}  // namespace regard::tasks
