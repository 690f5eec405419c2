// tokenizer_config.json: what a model's folder says of its tokenizer beside the tokenizer itself.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace regard::text {

struct TokenizerConfig {
  // The chat template in Jinja as the file has it, or chat_template.jinja beside it; rendering is the
  // caller's.
  std::optional<std::string> chat_template;
  std::string template_file;                           // that it stands in
  std::map<std::string, std::string> named_templates;  // where the file has several; "default" is above, too
  // "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token" → its text.
  std::map<std::string, std::string> special_tokens;
  std::vector<std::string> additional_special_tokens;

  // The special tokens' ids in `tokenizer`; a token that it lacks is left out.
  std::map<std::string, std::int32_t> special_ids(const Tokenizer& tokenizer) const;
};

// Of a model's folder, or of the folder that holds a tokenizer's file; empty where there is no such file.
// Throws bad_file for one that is there and wrong.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& path);

}  // namespace regard::text
