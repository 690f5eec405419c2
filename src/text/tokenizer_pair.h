// The tokenizers of a folder whose two sides may have a vocabulary each.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace regard::text {

constexpr const char* kTokenizerFile = "tokenizer.json";
// Of two vocabularies the one that is not in tokenizer.json: in run folders that is the source's, in folders
// for transformers, whose AutoTokenizer reads the input with tokenizer.json, the target's.
constexpr const char* kSourceTokenizerFile = "source_tokenizer.json";
constexpr const char* kTargetTokenizerFile = "target_tokenizer.json";

// The same object where one vocabulary serves both sides.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;
};

// Throws as Tokenizer::load does.
TokenizerPair load_tokenizer_pair(const std::filesystem::path& folder);

}  // namespace regard::text
