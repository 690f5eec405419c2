// Encoding of a text that is given as words, as Hugging Face's is_split_into_words.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace regard::text {

// Encode each word alone, without special tokens, and concatenate: `words` of the result is the index of each
// token's word, and offsets are relative to it. Special tokens in a word are ordinary text.
Encoding encode_words(const Tokenizer& tokenizer, std::span<const std::string> words);

}  // namespace regard::text
