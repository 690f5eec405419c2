// Selects the characters that the vocabulary of a trained tokenizer contains.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/word_counts.h"

namespace regard::text {

struct AlphabetLimits {
  // maximum number of characters, including `always`; the most frequent ones are kept; 0 means no limit
  std::size_t max_characters = 0;
  double coverage = 1.0;  // keep the most frequent characters that together cover this fraction of the text
  std::string always;     // characters that are kept regardless of the text
};

// Return the characters, sorted by code point. If a limit applies, characters of equal frequency are
// preferred in the order of code points. Throws usage for a coverage outside (0, 1] and for invalid UTF-8 in
// `always`.
std::vector<char32_t> alphabet_of(const std::vector<WordCount>& words, const AlphabetLimits& limits);

std::string text_of(char32_t c);

}  // namespace regard::text
