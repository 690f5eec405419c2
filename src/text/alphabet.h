// The characters that a vocabulary keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/word_counts.h"

namespace regard::text {

struct AlphabetLimits {
  std::size_t max_characters = 0;  // the commonest so many, those of `always` counted; 0: all
  double coverage = 1.0;           // the commonest that make up this part of the text
  std::string always;              // whatever the text says
};

// By code point; of equally common ones the smaller are kept. Throws usage for a coverage outside (0, 1] and
// for bad UTF-8 in `always`.
std::vector<char32_t> alphabet_of(const std::vector<WordCount>& words, const AlphabetLimits& limits);

std::string text_of(char32_t c);

}  // namespace regard::text
