// The files that tokenizers came in before tokenizer.json, and what a model's folder holds. Each becomes the
// rest of a tokenizer.json and a model.
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
  std::string name;              // for messages
  Json pipeline;                 // the rest of a tokenizer.json
  std::unique_ptr<Model> model;  // null: the pipeline is a whole tokenizer.json
};

// From a tokenizer.json's text; `file` is for messages.
TokenizerFile read_tokenizer_json(std::string text, const std::string& file);
// The quick way, which the above tries first: nothing unless the text is well-formed and the model one of
// Hugging Face's without anything unusual. The text gets padding on the way and loses it again.
std::optional<TokenizerFile> read_tokenizer_json_quickly(std::string& text, const std::string& file);
// Whether this build has the quick way.
bool has_quick_tokenizer_json() noexcept;

// A folder, or any file that a tokenizer is kept in. Throws io or bad_file.
TokenizerFile open_tokenizer(const std::filesystem::path& path, Language language);

// A WordPiece vocabulary, a token a line; lower-cased unless `config` (tokenizer_config.json, or null) says
// otherwise.
TokenizerFile read_vocab_txt(const std::filesystem::path& file, const Json& config);
// GPT-2's and RoBERTa's pair of files.
TokenizerFile read_vocab_and_merges(const std::filesystem::path& vocabulary,
                                    const std::filesystem::path& merges, const Json& config);
// sentencepiece's model.
TokenizerFile read_sentencepiece(const std::filesystem::path& file);
// Marian's folder: source.spm, target.spm and vocab.json.
TokenizerFile read_marian(const std::filesystem::path& folder, Language language);

// An entry of "added_tokens" for a special token, without flags.
Json special_token_json(const std::string& content, std::int32_t id);

}  // namespace regard::text
