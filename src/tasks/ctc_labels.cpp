#include "tasks/ctc_labels.h"

#include "base/json.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

// Return the special token `key` of a tokenizer_config.json, or `fallback` if the key is missing. The value
// is a string, or an object that contains the string as "content".
std::string special_token(const Json& settings, const char* key, const std::string& fallback,
                          const std::string& file) {
  const auto found = settings.find(key);
  if (found == settings.end() || found->is_null()) return fallback;
  if (found->is_object() && found->contains("content"))
    return json_as<std::string>((*found)["content"], key, file);
  return json_as<std::string>(*found, key, file);
}

// Return the vocabulary of a language; if `language` is empty, the only vocabulary.
const Json& vocabulary_of(const Json& all, const std::string& language, const std::string& file) {
  if (language.empty()) return all;
  const auto found = all.find(language);
  if (found == all.end() || !found->is_object())
    throw file_error(file, "the file has no vocabulary for this language").found(language);
  return *found;
}

}  // namespace

CtcLabels read_ctc_labels(const std::filesystem::path& folder, std::int64_t labels,
                          const std::string& language) {
  const std::string file = (folder / "vocab.json").string();
  const std::string settings_file = (folder / "tokenizer_config.json").string();
  const Json content = read_json_object(file);
  const Json settings =
      std::filesystem::exists(settings_file) ? read_json_object(settings_file) : Json::object();
  const std::string own =
      optional_value<std::string>(settings, "target_lang", settings_file).value_or(std::string());
  const Json& vocabulary = vocabulary_of(content, language.empty() ? own : language, file);
  CtcLabels all;
  all.tokens.resize(static_cast<std::size_t>(labels));
  all.lower = optional_value<bool>(settings, "do_lower_case", settings_file).value_or(false);
  all.unknown = special_token(settings, "unk_token", "<unk>", settings_file);
  all.specials = {all.unknown};
  for (const auto& [key, fallback] :
       {std::pair{"pad_token", "<pad>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}})
    all.specials.insert(special_token(settings, key, fallback, settings_file));
  const std::string space = special_token(settings, "word_delimiter_token", "|", settings_file);
  for (const auto& [token, value] : vocabulary.items()) {
    const auto id = json_as<std::int64_t>(value, token, file);
    if (id < 0 || id >= labels)
      throw file_error(file, "the id of a label is out of range")
          .found(std::to_string(id))
          .expected("an id from 0 to " + std::to_string(labels - 1));
    if (token == space) all.space = static_cast<std::int32_t>(id);
    all.tokens[static_cast<std::size_t>(id)] = token;
  }
  return all;
}

}  // namespace regard::tasks
