// Selects the characters of a vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/word_counts.h"

namespace regard::text {

struct AlphabetLimits {
  std::size_t max_characters = 0;  // keep only the most frequent ones, including `always`; 0 means all
  double coverage = 1.0;           // keep only the most frequent ones that cover this share of the text
  std::string always;              // characters kept regardless of the text
};

// Return the characters sorted by code point. Of characters with equal frequency, the smaller code point is
// kept. Throws usage for a coverage outside (0, 1] and for invalid UTF-8 in `always`.
std::vector<char32_t> alphabet_of(const std::vector<WordCount>& words, const AlphabetLimits& limits);

std::string text_of(char32_t c);

}  // namespace regard::text
