#include "text/tokenizer_config.h"

#include "base/file.h"
#include "base/json.h"

namespace regard::text {
namespace {

// Return the text of a token, which is given as a string or as an object with "content".
std::optional<std::string> token_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object() && json.contains("content") && json.at("content").is_string())
    return json.at("content").get<std::string>();
  return std::nullopt;
}

void read_templates(const Json& json, const std::string& file, TokenizerConfig& config) {
  if (json.is_null()) return;
  config.template_file = file;
  if (json.is_string()) {
    config.chat_template = json.get<std::string>();
    return;
  }
  if (!json.is_array())
    throw file_error(file, "expected chat_template to be a string or a list of named templates")
        .found(describe(json));
  for (const Json& entry : json)
    config.named_templates[require<std::string>(entry, "name", file)] =
        require<std::string>(entry, "template", file);
  if (const auto found = config.named_templates.find("default"); found != config.named_templates.end())
    config.chat_template = found->second;
}

void read_settings(const Json& json, const std::string& file, TokenizerConfig& config) {
  if (!json.is_object()) throw file_error(file, "expected a JSON object").found(describe(json));
  for (const char* role :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (json.contains(role))
      if (const auto text = token_text(json.at(role))) config.special_tokens[role] = *text;
  if (json.contains("additional_special_tokens") && json.at("additional_special_tokens").is_array()) {
    config.additional_special_tokens.clear();
    for (const Json& entry : json.at("additional_special_tokens"))
      if (const auto text = token_text(entry)) config.additional_special_tokens.push_back(*text);
  }
  if (json.contains("chat_template")) read_templates(json.at("chat_template"), file, config);
}

}  // namespace

std::map<std::string, std::int32_t> TokenizerConfig::special_ids(const Tokenizer& tokenizer) const {
  std::map<std::string, std::int32_t> ids;
  for (const auto& [role, token] : special_tokens)
    if (const auto id = tokenizer.id_of(token)) ids[role] = *id;
  return ids;
}

TokenizerConfig tokenizer_config_of(const SettingsFiles& files) {
  TokenizerConfig config;
  for (const char* name :
       {"special_tokens_map.json", "tokenizer_config.json"}) {  // values of the last file take precedence
    for (const auto& [file, text] : files)
      if (std::filesystem::path(file).filename() == name) read_settings(parse_json(text, file), file, config);
  }
  for (const auto& [file, text] : files)
    if (std::filesystem::path(file).filename() == "chat_template.jinja") {
      config.chat_template = text;
      config.template_file = file;
    }
  return config;
}

TokenizerConfig read_tokenizer_config(const std::filesystem::path& path) {
  const std::filesystem::path folder = std::filesystem::is_directory(path) ? path : path.parent_path();
  SettingsFiles files;
  for (const char* name : kSettingsFiles)
    if (const auto file = folder / name; std::filesystem::exists(file))
      files.emplace_back(file.string(), read_regular_file(file, JsonLimits{}.bytes));
  return tokenizer_config_of(files);
}

TokenRoles spelled_roles(const Tokenizer& tokenizer) {
  static const TokenRoles spellings{
      {"bos_token", "<s>"},     {"bos_token", "<bos>"},  {"bos_token", "<|startoftext|>"},
      {"eos_token", "</s>"},    {"eos_token", "<eos>"},  {"eos_token", "<|endoftext|>"},
      {"unk_token", "<unk>"},   {"unk_token", "[UNK]"},  {"pad_token", "<pad>"},
      {"pad_token", "[PAD]"},   {"cls_token", "[CLS]"},  {"sep_token", "[SEP]"},
      {"mask_token", "[MASK]"}, {"mask_token", "<mask>"}};
  TokenRoles roles;
  for (const auto& [role, token] : spellings)
    if (const auto id = tokenizer.id_of(token); id && tokenizer.is_special(*id))
      roles.emplace_back(role, token);
  return roles;
}

Json fast_tokenizer_config(const Tokenizer& tokenizer, const TokenizerUse& use, const TokenRoles& roles) {
  Json names{"input_ids", "attention_mask"};
  if (use.token_types) names.insert(names.begin() + 1, "token_type_ids");
  // Name the tokenizer class. Otherwise, transformers selects a class by the model type, and some of these
  // classes replace the normalizer.
  Json json{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (use.max_length > 0) json["model_max_length"] = use.max_length;
  json["model_input_names"] = std::move(names);
  json["padding_side"] = use.pads_left ? "left" : "right";
  // Encode the spelling of a special token as ordinary text, and do not modify decoded text.
  json["split_special_tokens"] = true;
  json["clean_up_tokenization_spaces"] = false;
  for (const auto& [role, token] : roles)
    if (const auto id = tokenizer.id_of(token); id && tokenizer.is_special(*id)) json[role] = token;
  return json;
}

}  // namespace regard::text
