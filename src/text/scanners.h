// Hand-written scanners for the published patterns of byte-level tokenizers: one pass, no backtracking, no
// input that makes them slow. Each is held to PCRE2's reading of its pattern by a test.
#pragma once

#include <cstddef>
#include <string_view>

namespace regard::text {

// The end of the match that begins at `begin` < text.size(); these patterns match everywhere. `text` is valid
// UTF-8.
using Scanner = std::size_t (*)(std::string_view text, std::size_t begin);

extern const std::string_view kGpt2Pattern, kCl100kPattern, kO200kPattern, kLlama3Pattern, kQwen2Pattern;
// Ours: GPT-2's with combining marks counted as letters, so that Indic words stay whole.
extern const std::string_view kWordsPattern;

// The last two as tiktoken has them: there, a caseless s is also the long s (U+017F), which is
// spelt out here, and cl100k leaves the spaces at the very end together.
extern const std::string_view kTiktokenCl100kPattern, kTiktokenO200kPattern;

// The scanners, and two more that cut where a tokenizer gives for the whole what it gives for the parts.
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

// Which one does what `expression` does in Oniguruma (Hugging Face).
WordScan scan_of(std::string_view expression);
// The scanner that does what `expression` does in Oniguruma (Hugging Face), or null.
Scanner published_scanner(std::string_view expression);
Scanner gpt2_scanner();
}  // namespace regard::text
