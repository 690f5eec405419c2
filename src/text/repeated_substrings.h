// The substrings of many words that occur more than once, from a suffix array: what a unigram model's pieces
// are chosen from (Kudo 2018).
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"

namespace regard::text {

struct Substring {
  std::uint32_t begin = 0;   // one of its places in the text
  std::uint32_t length = 0;  // at least 2
  std::uint32_t count = 0;   // places where it occurs, at least 2
  std::uint32_t rank = 0;    // in the order of suffixes: orders substrings as their characters do, together
                             // with `length`
};

// `text`: words as code points, each followed by 0. Of substrings that occur at the same places only the
// longest is given, the end of the word counted: "ing" is left out if it stands at the end of words only, as
// in the reference. None is longer than `max_length`. `pool` may be null.
std::vector<Substring> repeated_substrings(const std::vector<char32_t>& text, std::uint32_t max_length,
                                           ThreadPool* pool);

}  // namespace regard::text
