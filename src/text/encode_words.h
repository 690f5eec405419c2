// Encoding of a text that is given as words, like Hugging Face's is_split_into_words.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace regard::text {

// Encode each word separately and concatenate the results. Special tokens are not added, and the spelling of
// a special token in a word is encoded as ordinary text.
// In the result, `words` contains the index of each token's word, and offsets are relative to that word.
Encoding encode_words(const Tokenizer& tokenizer, std::span<const std::string> words);

}  // namespace regard::text
