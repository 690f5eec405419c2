// Words of a text as runs of its tokens, as transformers' WhisperTokenizer groups them for times of words
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
  std::string text;                 // with the space before it
  std::size_t first = 0, last = 0;  // its tokens, both included
};

// `language`: a code ("en"); empty: a language with spaces.
std::vector<TokenWord> split_words(const text::Tokenizer& tokenizer, std::span<const std::int32_t> tokens,
                                   const std::string& language);

}  // namespace regard::tasks
