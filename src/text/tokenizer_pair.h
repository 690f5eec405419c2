// Source and target tokenizers of a folder, with one vocabulary for both or one for each.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace regard::text {

constexpr const char* kTokenizerFile = "tokenizer.json";
// With two vocabularies, tokenizer.json is the target tokenizer in run folders, and the source tokenizer in
// folders for transformers, because AutoTokenizer encodes the input with tokenizer.json. The other tokenizer
// is in one of these files.
constexpr const char* kSourceTokenizerFile = "source_tokenizer.json";
constexpr const char* kTargetTokenizerFile = "target_tokenizer.json";

// Both point to the same object if there is one vocabulary.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;
};

// Throws the errors of Tokenizer::load().
TokenizerPair load_tokenizer_pair(const std::filesystem::path& folder);

}  // namespace regard::text
