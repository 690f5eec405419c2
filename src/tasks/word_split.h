// Division of a text's tokens into words for word timestamps, as in WhisperTokenizer of transformers
// (_combine_tokens_into_words). Words end at spaces and punctuation; in languages without spaces, every
// complete character is a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace regard::tasks {

struct TokenWord {
  std::string text;                 // text of the word, with the space before it
  std::size_t first = 0, last = 0;  // indices of the word's first token and last token
};

// Return the words of the tokens. `language` is a code such as "en"; empty means a language with spaces.
std::vector<TokenWord> split_words(const text::Tokenizer& tokenizer, std::span<const std::int32_t> tokens,
                                   const std::string& language);

}  // namespace regard::tasks
