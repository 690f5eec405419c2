// Encoding of a text that is given as words, like Hugging Face's is_split_into_words.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace regard::text {

// Encode each word separately, without special tokens, and concatenate the results. `words` of the result
// holds for each token the index of its word; offsets are relative to that word. A special token's spelling
// in a word is encoded as ordinary text.
Encoding encode_words(const Tokenizer& tokenizer, std::span<const std::string> words);

}  // namespace regard::text
