// Hand-written scanners for the published patterns of byte-level tokenizers. They run in linear time, without
// backtracking; tests compare each scanner with PCRE2.
#pragma once

#include <cstddef>
#include <string_view>

namespace regard::text {

// Returns the end of the match that starts at `begin` < text.size(); the patterns of scanners match at every
// position. `text` must be valid UTF-8.
using Scanner = std::size_t (*)(std::string_view text, std::size_t begin);

extern const std::string_view kGpt2Pattern, kCl100kPattern, kO200kPattern, kLlama3Pattern, kQwen2Pattern;
// regard's own pattern. It is GPT-2's pattern, except that combining marks count as letters, so that Indic
// words are not split.
extern const std::string_view kWordsPattern;

// tiktoken's versions of cl100k and o200k, in which a case-insensitive s also matches the long s (U+017F). In
// tiktoken's cl100k, all white space at the end of the text, including line ends, is one match.
extern const std::string_view kTiktokenCl100kPattern, kTiktokenO200kPattern;

// Names of the scanners. `bert` and `spaces` find positions where a text can be split without changing its
// tokens.
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

// Return the scanner that has the same matches as `expression` in Oniguruma's dialect (Hugging Face).
WordScan scan_of(std::string_view expression);
// Return the function of the scanner scan_of(expression), or null for WordScan::none.
Scanner published_scanner(std::string_view expression);
Scanner gpt2_scanner();
}  // namespace regard::text
