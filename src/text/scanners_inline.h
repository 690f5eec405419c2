// The scanners of scanners.h, inlined into loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "text/scan_text.h"
#include "text/scanners.h"
#include "text/unicode.h"

namespace regard::text::scanning {

// Returns the end of the match that starts at `begin`, like Scanner, but for a ScanText.
using Scan = std::size_t (*)(const ScanText& text, std::size_t begin);

// Return the length of the contraction ('s 't 're 've 'm 'll 'd) at `place`, or 0.
inline std::size_t contraction(const ScanText& text, std::size_t place, bool any_case, bool long_s) noexcept {
  if (place + 1 >= text.size() || text[place] != '\'') return 0;
  const auto lower = [&](std::size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = lower(place + 1), second = lower(place + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'l' && second == 'l') || ((first == 'r' || first == 'v') && second == 'e')) return 3;
  return long_s && text.substr(place + 1, 2) == "\u017F" ? 3 : 0;
}

struct Spaces {
  std::size_t end = 0;          // position after the spaces
  std::size_t last = 0;         // position of the last code point of the spaces
  std::size_t newline_end = 0;  // position after the last line end; 0 if there is none
};

inline Spaces spaces_at(const ScanText& text, std::size_t begin) noexcept {
  Spaces run{begin, begin, 0};
  while (run.end < text.size()) {
    const KindAndSize next = kind_at(text, run.end);
    if (!is_space(next.kind)) break;
    run.last = run.end;
    run.end += next.size;
    if (next.kind == Kind::newline) run.newline_end = run.end;
  }
  return run;
}

// Match \s+(?!\S)|\s+. The match is all spaces if they end the text or if there is only one; otherwise, all
// except the last one, which belongs to the word that follows.
inline std::size_t end_of_spaces(const ScanText& text, const Spaces& run, std::size_t begin) noexcept {
  return run.end == text.size() || run.last == begin ? run.end : run.last;
}

template <bool marks>
std::size_t scan_gpt2(const ScanText& text, std::size_t begin) {
  const std::size_t bare = begin + (text[begin] == ' ' ? 1 : 0);
  if (const std::size_t run = plain_letters(text, bare)) return bare + run;
  if (const std::size_t size = contraction(text, begin, false, false)) return begin + size;
  std::size_t place = begin;
  KindAndSize first = kind_at<marks>(text, place);
  if (text[place] == ' ' && place + 1 < text.size()) {
    const KindAndSize next = kind_at<marks>(text, place + 1);
    if (!is_space(next.kind)) {
      ++place;
      first = next;
    }
  }
  if (!is_space(first.kind)) return run_of<marks>(text, place + first.size, first.kind);
  return end_of_spaces(text, spaces_at(text, begin), begin);
}

struct Options {
  int digits = 3;              // maximum number of digits per piece
  bool long_s = false;         // if true, a case-insensitive s also matches U+017F
  bool spaces_at_end = false;  // if true, the alternative \s++$ precedes the alternative for line ends
  bool slashes = false;        // if true, [\r\n/]* may follow punctuation
};

inline std::size_t end_of_digits(const ScanText& text, std::size_t place, int most) noexcept {
  for (int count = 0; count < most && place < text.size(); ++count) {
    const KindAndSize next = kind_at(text, place);
    if (next.kind != Kind::number) break;
    place += next.size;
  }
  return place;
}

// Match the alternatives of cl100k, and of patterns derived from it, for text other than words: numbers,
// punctuation with line ends, and spaces.
template <Options options>
std::size_t scan_rest(const ScanText& text, std::size_t begin, KindAndSize first) noexcept {
  if (first.kind == Kind::number) return end_of_digits(text, begin, options.digits);
  std::size_t place = begin;
  if (text[begin] == ' ' && begin + 1 < text.size() && kind_at(text, begin + 1).kind == Kind::other) ++place;
  if (place > begin || first.kind == Kind::other) {
    place = run_of(text, place, Kind::other);
    while (place < text.size() &&
           (text[place] == '\n' || text[place] == '\r' || (options.slashes && text[place] == '/')))
      ++place;
    return place;
  }
  const Spaces run = spaces_at(text, begin);
  if (options.spaces_at_end && run.end == text.size()) return run.end;
  return run.newline_end != 0 ? run.newline_end : end_of_spaces(text, run, begin);
}

// Return 1 if the byte may precede the letters of a word in cl100k, otherwise 0. Returns 0 for the
// apostrophe, because it may start a contraction.
inline std::size_t leads(char first) noexcept {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 && byte != '\'' && (kAsciiKinds[byte] == Kind::space || kAsciiKinds[byte] == Kind::other)
             ? 1
             : 0;
}

template <Options options>
std::size_t scan_cl100k(const ScanText& text, std::size_t begin) {
  const std::size_t bare = begin + leads(text[begin]);
  if (const std::size_t run = plain_letters(text, bare)) return bare + run;
  const KindAndSize first = kind_at(text, begin);
  if (first.kind == Kind::letter) return run_of(text, begin + first.size, Kind::letter);
  if (const std::size_t size = contraction(text, begin, true, options.long_s)) return begin + size;
  if (first.kind == Kind::space || first.kind == Kind::other) {
    const std::size_t next = begin + first.size;
    const std::size_t end = run_of(text, next, Kind::letter);
    if (end > next) return end;
  }
  return scan_rest<options>(text, begin, first);
}

// Words of o200k are [A]*[B]+ or [A]+[B]*. A is upper and title case, B is lower case; both include caseless
// letters.
struct Cased {
  bool upper = false, lower = false;
};

inline Cased cased(Category category) noexcept {
  switch (category) {
    case Category::letter_upper:
    case Category::letter_title:
      return {true, false};
    case Category::letter_lower:
      return {false, true};
    case Category::letter_modifier:
    case Category::letter_other:
    case Category::mark_nonspacing:
    case Category::mark_spacing:
    case Category::mark_enclosing:
      return {true, true};
    default:
      return {};
  }
}

struct CasedWord {
  std::size_t lower_end = 0;  // end of the match of [A]*[B]+; 0 if there is none
  std::size_t upper_end = 0;  // end of the match of [A]+[B]*; 0 if there is none
};

inline CasedWord cased_word(const ScanText& text, std::size_t begin) noexcept {
  const auto at = [&](std::size_t place) {
    const Symbol symbol = decode_valid(text, place);
    return std::pair(cased(unicode::category(symbol.value)), static_cast<std::size_t>(symbol.size));
  };
  std::size_t place = begin, last_both_end = 0;
  while (place < text.size()) {
    const auto [letter, size] = at(place);
    if (!letter.upper) break;
    place += size;
    if (letter.lower) last_both_end = place;
  }
  const std::size_t uppers_end = place;
  while (place < text.size()) {
    const auto [letter, size] = at(place);
    if (!letter.lower) break;
    place += size;
  }
  CasedWord word;
  word.lower_end = place > uppers_end ? place : last_both_end;
  if (uppers_end > begin) word.upper_end = place;
  return word;
}

// Return the end of a word that consists of ASCII letters. Returns 0 if the caller must examine the code
// points one by one, because the next character may belong to the word.
inline std::size_t plain_cased_word(const ScanText& text, std::size_t place) noexcept {
  const std::size_t run = plain_letters(text, place);
  if (run == 0) return 0;
  std::size_t end = place;
  while (end < place + run && text[end] < 'a') ++end;
  while (end < place + run && text[end] >= 'a') ++end;
  return end < text.size() && text[end] == '\'' ? 0 : end;
}

template <Options options>
std::size_t scan_o200k(const ScanText& text, std::size_t begin) {
  if (const std::size_t end = plain_cased_word(text, begin + leads(text[begin]))) return end;
  const KindAndSize first = kind_at(text, begin);
  // true if the first code point matches [^\r\n\p{L}\p{N}]
  const bool may_lead = first.kind == Kind::space || first.kind == Kind::other;
  CasedWord led, bare;
  if (may_lead && begin + first.size < text.size()) led = cased_word(text, begin + first.size);
  if (first.kind == Kind::letter || first.kind == Kind::other) bare = cased_word(text, begin);
  for (const std::size_t end : {led.lower_end, bare.lower_end, led.upper_end, bare.upper_end})
    if (end != 0) return end + contraction(text, end, true, options.long_s);
  return scan_rest<options>(text, begin, first);
}

// Return true if `byte` is ASCII punctuation or white space. BERT's normalizer and pre-tokenizer split before
// and after punctuation, and before white space.
inline bool is_bert_boundary(unsigned char byte) noexcept {
  return byte < 0x80 && kAsciiKinds[byte] != Kind::letter && kAsciiKinds[byte] != Kind::number &&
         (byte > ' ' || byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') && byte != 0x7F;
}

inline std::size_t scan_bert(const ScanText& text, std::size_t begin) {
  const auto bounds = [&](std::size_t at) { return is_bert_boundary(static_cast<unsigned char>(text[at])); };
  std::size_t place = begin + (text[begin] == ' ' ? 1 : 0);
  if (place == text.size() || text[place] == ' ') return place;
  if (bounds(place)) return place + 1;
  place += plain_letters(text, place);
  while (place < text.size() && !bounds(place)) ++place;
  return place;
}

// Return true if no normalizer removes `c`, maps it to a space, or combines it with a space after it.
inline bool is_solid(char32_t c) noexcept {
  if (c < 0x80) return c > ' ' && c != 0x7F;
  if (c == 0x2581) return false;  // sentencepiece's space symbol
  const Category category = unicode::category(c);
  const bool mark = category >= Category::mark_nonspacing && category <= Category::mark_enclosing;
  return category >= Category::letter_upper && category <= Category::symbol_other && !(mark && c >= 0xFE00) &&
         !unicode::is_prepended(c);
}

// Return the start of the next sequence of spaces that follows a character for which is_solid() returns true,
// or the end of the text.
inline std::size_t scan_spaces(const ScanText& text, std::size_t begin) {
  std::size_t place = begin;
  while (place < text.size()) {
    while (place < text.size() && text[place] == ' ') ++place;
    const void* const found = std::memchr(text.data + place, ' ', text.size() - place);
    if (found == nullptr) return text.size();
    place = static_cast<std::size_t>(static_cast<const char*>(found) - text.data);
    std::size_t before = place - 1;
    while (before > begin && (static_cast<unsigned char>(text[before]) & 0xC0u) == 0x80u) --before;
    if (is_solid(decode_valid(text, before).value)) return place;
  }
  return place;
}

}  // namespace regard::text::scanning

namespace regard::text {

// Call use() with the scan as an integral constant, or otherwise() for WordScan::none.
template <class Use, class Otherwise>
auto with_scan(WordScan scan, Use use, Otherwise otherwise) {
  using namespace scanning;  // NOLINT: makes the names below short
  const auto call = [&]<auto kScan>() { return use(std::integral_constant<Scan, kScan>()); };
  switch (scan) {
    case WordScan::gpt2:
      return call.template operator()<scan_gpt2<false>>();
    case WordScan::words:
      return call.template operator()<scan_gpt2<true>>();
    case WordScan::cl100k:
      return call.template operator()<scan_cl100k<Options{}>>();
    case WordScan::qwen2:
      return call.template operator()<scan_cl100k<Options{.digits = 1}>>();
    case WordScan::tiktoken_cl100k:
      return call.template operator()<scan_cl100k<Options{.long_s = true, .spaces_at_end = true}>>();
    case WordScan::tiktoken_o200k:
      return call.template operator()<scan_o200k<Options{.long_s = true, .slashes = true}>>();
    case WordScan::o200k:
      return call.template operator()<scan_o200k<Options{.slashes = true}>>();
    case WordScan::bert:
      return call.template operator()<scan_bert>();
    case WordScan::spaces:
      return call.template operator()<scan_spaces>();
    case WordScan::none:
      break;
  }
  return otherwise();
}

}  // namespace regard::text
