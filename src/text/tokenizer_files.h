// Reads all tokenizer file formats, and finds the tokenizer in a model folder. Each format is converted to a
// model and the remaining parts of a tokenizer.json.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "text/model.h"
#include "text/tokenizer.h"

namespace regard::text {

struct TokenizerFile {
  std::string name;              // name of the file for error messages
  Json pipeline;                 // the tokenizer.json, without "model" unless `model` is null
  std::unique_ptr<Model> model;  // null if `pipeline` contains the model
};

// Parse the text of a tokenizer.json; `file` is for error messages.
TokenizerFile read_tokenizer_json(std::string text, const std::string& file);
// Fast path of read_tokenizer_json(). Returns nullopt if the text is malformed or the fast path does not
// support it; `text` is padded during the call only.
std::optional<TokenizerFile> read_tokenizer_json_quickly(std::string& text, const std::string& file);
// Return true if this build has the fast path (simdjson).
bool has_quick_tokenizer_json() noexcept;

// Return true if the folder has a tokenizer in any supported format.
bool has_tokenizer(const std::filesystem::path& folder);

// Open a folder or any supported tokenizer file. Throws io or bad_file.
TokenizerFile open_tokenizer(const std::filesystem::path& path, Language language);

// Read a WordPiece vocabulary, which has one token per line. The tokenizer converts text to lower case unless
// `config` (tokenizer_config.json, or null) disables this.
TokenizerFile read_vocab_txt(const std::filesystem::path& file, const Json& config);
// Read vocab.json and merges.txt of GPT-2 or RoBERTa.
TokenizerFile read_vocab_and_merges(const std::filesystem::path& vocabulary,
                                    const std::filesystem::path& merges, const Json& config);
// Read a sentencepiece model.
TokenizerFile read_sentencepiece(const std::filesystem::path& file);
// Read a Marian folder: source.spm, target.spm and vocab.json.
TokenizerFile read_marian(const std::filesystem::path& folder, Language language);

// Return an entry of "added_tokens" for a special token; the other properties ("single_word", "lstrip",
// "rstrip", "normalized") are false.
Json special_token_json(const std::string& content, std::int32_t id);

}  // namespace regard::text
