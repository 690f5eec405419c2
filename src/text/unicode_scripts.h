// The scripts (UAX 24) that Hugging Face's pre-tokenizer UnicodeScripts tells apart, with the version of
// Unicode that it carries. Written by tools/unicode_scripts.py.
#pragma once

#include <cstdint>
#include <vector>

namespace regard::text::unicode {

// Pairs: the first code point of a run of one script, and the script's number.
extern const std::vector<std::uint32_t> kScriptStarts;

// 0 for what goes with any script: the space, and what is assigned to none. Han, Hiragana and Katakana are
// one.
inline std::uint32_t script_of(char32_t c) noexcept {
  std::size_t low = 0, high = kScriptStarts.size() / 2;  // the run is in [low, high)
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (kScriptStarts[2 * middle] <= c ? low : high) = middle;
  }
  return kScriptStarts[2 * low + 1];
}

}  // namespace regard::text::unicode
