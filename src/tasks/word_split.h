// Division of a text's tokens into words, to find the times of words as transformers' WhisperTokenizer does
// (_combine_tokens_into_words): at spaces and punctuation, or at every complete character in languages
// without spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace regard::tasks {

struct TokenWord {
  std::string text;                 // includes the preceding space
  std::size_t first = 0, last = 0;  // index of its first and of its last token
};

// `language` is a code such as "en"; empty means a language with spaces.
std::vector<TokenWord> split_words(const text::Tokenizer& tokenizer, std::span<const std::int32_t> tokens,
                                   const std::string& language);

}  // namespace regard::tasks
