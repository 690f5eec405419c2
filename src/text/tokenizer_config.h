// Reads tokenizer_config.json: special tokens and chat templates of a model folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace regard::text {

struct TokenizerConfig {
  // Default chat template, as Jinja source. A chat_template.jinja in the folder takes precedence over
  // tokenizer_config.json.
  std::optional<std::string> chat_template;
  std::string template_file;  // name of the file that contains the chat templates
  // Templates by name, if the file has several. The template "default" is also in chat_template.
  std::map<std::string, std::string> named_templates;
  // Text of each special token. The keys are "bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
  // "cls_token" and "mask_token".
  std::map<std::string, std::string> special_tokens;
  std::vector<std::string> additional_special_tokens;

  // Return the ids of special_tokens in `tokenizer`. Tokens that are not in its vocabulary are omitted.
  std::map<std::string, std::int32_t> special_ids(const Tokenizer& tokenizer) const;
};

// Read the configuration of a model folder; `path` is the folder or a tokenizer file in it. Reads
// special_tokens_map.json and tokenizer_config.json; missing files are skipped. Throws bad_file if a file is
// malformed.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& path);

}  // namespace regard::text
