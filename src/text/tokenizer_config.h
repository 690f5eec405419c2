// Reads and writes tokenizer_config.json: special tokens and chat templates of a model folder.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "text/tokenizer.h"

namespace regard::text {

struct TokenizerConfig {
  // Default chat template, as Jinja source. A chat_template.jinja in the folder takes precedence over
  // tokenizer_config.json.
  std::optional<std::string> chat_template;
  std::string template_file;  // name of the file that contains the chat templates
  // Chat templates by name, if template_file contains several. The template "default" is also in
  // chat_template.
  std::map<std::string, std::string> named_templates;
  // Text of each special token. The keys are "bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
  // "cls_token" and "mask_token".
  std::map<std::string, std::string> special_tokens;
  std::vector<std::string> additional_special_tokens;

  // Return the ids of special_tokens in `tokenizer`. Tokens that are not in its vocabulary are omitted.
  std::map<std::string, std::int32_t> special_ids(const Tokenizer& tokenizer) const;
};

// Names and contents of the files, other than tokenizer.json, that describe the tokenizer of a folder.
using SettingsFiles = std::vector<std::pair<std::string, std::string>>;
inline constexpr std::array kSettingsFiles{"tokenizer_config.json", "special_tokens_map.json",
                                           "chat_template.jinja"};

// Return the configuration that the files contain. Throws bad_file if a file is malformed.
TokenizerConfig tokenizer_config_of(const SettingsFiles& files);

// Read the configuration of a model folder; `path` is the folder or a tokenizer file in it. Reads
// special_tokens_map.json and tokenizer_config.json; missing files are skipped. Throws bad_file if a file is
// malformed.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& path);

// Pairs of a role, such as "pad_token", and the text of its token.
using TokenRoles = std::vector<std::pair<std::string, std::string>>;

// Return the roles of special tokens that have one of the usual spellings, such as "[PAD]" or "<pad>".
TokenRoles spelled_roles(const Tokenizer& tokenizer);

// Properties of a model that fast_tokenizer_config() writes to tokenizer_config.json.
struct TokenizerUse {
  std::int64_t max_length = 0;  // maximum number of tokens; 0 means no limit
  bool token_types = false;     // the model reads token types
  bool pads_left = false;       // batches are padded on the left, as for decoders
};

// Return the tokenizer_config.json with which transformers applies the components of tokenizer.json
// unmodified. Roles of tokens that are not special tokens of `tokenizer` are omitted.
Json fast_tokenizer_config(const Tokenizer& tokenizer, const TokenizerUse& use, const TokenRoles& roles);

}  // namespace regard::text
