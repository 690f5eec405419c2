// Source and target tokenizers of a folder, with one common vocabulary or two vocabularies.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace regard::text {

constexpr const char* kTokenizerFile = "tokenizer.json";
// File name of the second tokenizer in a folder with two vocabularies. In run folders (the output of
// training), the source tokenizer is the second one. In folders for transformers, the target tokenizer is the
// second one, because AutoTokenizer encodes the input with tokenizer.json.
constexpr const char* kSourceTokenizerFile = "source_tokenizer.json";
constexpr const char* kTargetTokenizerFile = "target_tokenizer.json";

// Both pointers are equal if there is one vocabulary.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;
};

// Throws as Tokenizer::load() does.
TokenizerPair load_tokenizer_pair(const std::filesystem::path& folder);

}  // namespace regard::text
