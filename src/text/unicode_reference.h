// Where Hugging Face's tokenizers see Unicode otherwise than our base, Unicode 15.0: its parts carry tables
// of different versions. Written by tools/unicode_reference.py; used by unicode.cpp alone.
#pragma once

#include <vector>

#include "text/unicode.h"

namespace regard::text::unicode {

struct Range {
  char32_t first = 0, last = 0;
};
struct CategoryRange {
  char32_t first = 0, last = 0;
  Category category = Category::unassigned;
};
struct FlagRange {
  char32_t first = 0, last = 0;
  bool value = false;
};
struct LowerPair {
  char32_t upper = 0, lower = 0;
};

extern const std::vector<CategoryRange> kNewerCategories;
extern const std::vector<FlagRange> kBertPunctuation, kNumeric, kWord, kBertControl, kBertAccent,
    kCombiningMark;
extern const std::vector<LowerPair> kLower;  // sorted by `upper`
extern const std::vector<Range> kUndecomposed, kClassZero;

}  // namespace regard::text::unicode
