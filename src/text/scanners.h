// Hand-written scanners for the published patterns of byte-level tokenizers: one pass, linear time, no
// backtracking. Tests compare each with PCRE2 on its pattern.
#pragma once

#include <cstddef>
#include <string_view>

namespace regard::text {

// A scanner returns the end of the match that starts at `begin` < text.size(). These patterns match at every
// position. `text` is valid UTF-8.
using Scanner = std::size_t (*)(std::string_view text, std::size_t begin);

extern const std::string_view kGpt2Pattern, kCl100kPattern, kO200kPattern, kLlama3Pattern, kQwen2Pattern;
// regard's own pattern: GPT-2's with combining marks as letters, so that Indic words are not split.
extern const std::string_view kWordsPattern;

// tiktoken's versions of the last two patterns: case-insensitive s also matches the long s (U+017F), which
// is spelt out here, and cl100k keeps spaces at the end of the text together.
extern const std::string_view kTiktokenCl100kPattern, kTiktokenO200kPattern;

// The scanners. `bert` and `spaces` find positions where a text can be split without changing its tokens.
enum class WordScan {
  none,
  gpt2,
  words,
  cl100k,
  qwen2,
  tiktoken_cl100k,
  tiktoken_o200k,
  o200k,
  bert,
  spaces
};

// Return the scanner equivalent to `expression` in Oniguruma (Hugging Face).
WordScan scan_of(std::string_view expression);
// Return the scanner function equivalent to `expression` in Oniguruma (Hugging Face), or null.
Scanner published_scanner(std::string_view expression);
Scanner gpt2_scanner();
}  // namespace regard::text
