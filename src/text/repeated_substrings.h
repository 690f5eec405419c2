// Substrings that occur more than once, found with a suffix array. They are the seed pieces of a unigram
// model (Kudo 2018).
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"

namespace regard::text {

struct Substring {
  std::uint32_t begin = 0;   // position of one occurrence in the text
  std::uint32_t length = 0;  // number of characters, at least 2
  std::uint32_t count = 0;   // number of occurrences, at least 2
  std::uint32_t rank = 0;    // rank in the suffix array; (rank, length) gives the lexicographic order
};

// Return the repeated substrings of at most `max_length` characters. `text` contains words as code points,
// each followed by 0; `pool` may be null.
// If several substrings have the same occurrences, only the longest is returned. In this rule, the 0 counts
// as a character, as in the reference implementation: "ing" is omitted if it occurs only at the end of words.
std::vector<Substring> repeated_substrings(const std::vector<char32_t>& text, std::uint32_t max_length,
                                           ThreadPool* pool);

}  // namespace regard::text
