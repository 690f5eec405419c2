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
  // Default chat template, as Jinja source. A chat_template.jinja in the folder takes precedence.
  std::optional<std::string> chat_template;
  std::string template_file;  // file of the chat templates
  std::map<std::string, std::string>
      named_templates;  // set if the file has several templates; "default" is also in chat_template
  // Text of each special token, by name: "bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
  // "cls_token", "mask_token".
  std::map<std::string, std::string> special_tokens;
  std::vector<std::string> additional_special_tokens;

  // Return the ids of special_tokens in `tokenizer`, without those that it does not have.
  std::map<std::string, std::int32_t> special_ids(const Tokenizer& tokenizer) const;
};

// Read the configuration of a model folder; `path` is the folder or a tokenizer file in it. Reads
// special_tokens_map.json and tokenizer_config.json; missing files are skipped. Throws bad_file if a file is
// malformed.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& path);

}  // namespace regard::text
