// The scanners of scanners.h, inlined into loops. Words of ASCII letters end by one vector comparison.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "text/scanners.h"
#include "text/unicode.h"

namespace regard::text::scanning {

enum class Kind : std::uint8_t { letter, number, space, newline, other };

// Of the code points below 0x10000, four bits: their kind, and above it their kind where combining marks are
// letters too. Made at the first question.
const std::uint8_t* kinds_of_most();

// A text that is valid UTF-8, and how far its memory may be read: at least to its end.
struct ScanText {
  const char* data = nullptr;
  std::size_t length = 0, readable = 0;
  const std::uint8_t* kinds = kinds_of_most();

  explicit ScanText(std::string_view text) : data(text.data()), length(text.size()), readable(text.size()) {}
  ScanText(const char* bytes, std::size_t size, std::size_t may_read)
      : data(bytes), length(size), readable(may_read) {}
  std::size_t size() const noexcept { return length; }
  char operator[](std::size_t place) const noexcept { return data[place]; }
  std::string_view substr(std::size_t place, std::size_t count) const noexcept {
    return std::string_view(data, length).substr(place, count);
  }
};

using Scan = std::size_t (*)(const ScanText& text, std::size_t begin);  // as Scanner

struct Symbol {
  char32_t value;
  std::uint32_t size;  // bytes
};

inline Symbol decode_valid(const ScanText& text, std::size_t place) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[place + i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  if (lead < 0xF0) return {(lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
  return {(lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu), 4};
}

constexpr std::size_t kBlock = 32;  // bytes looked at together

// Bit i: whether byte i of the block is an ASCII letter.
inline std::uint32_t letters_of(const char* block) noexcept {
#if defined(__AVX2__)
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i place =
      _mm256_sub_epi8(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('a'));
  const __m256i letter = _mm256_cmpeq_epi8(_mm256_min_epu8(place, _mm256_set1_epi8(25)), place);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(letter));
#else
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto lower = static_cast<unsigned char>(block[i] | 0x20);
    bits |= static_cast<std::uint32_t>(lower >= 'a' && lower <= 'z') << i;
  }
  return bits;
#endif
}

// ASCII letters from `place` on, if the byte after them shows that the run ends there; else 0 and the caller
// looks closer.
[[gnu::always_inline]] inline std::size_t plain_letters(const ScanText& text, std::size_t place) noexcept {
  if (place + kBlock > text.readable) return 0;
  const auto run = static_cast<std::size_t>(std::countr_one(letters_of(text.data + place)));
  if (run == kBlock || static_cast<signed char>(text.data[place + run]) < 0) return 0;
  return std::min(run, text.length - place);
}

using unicode::Category;

// `marks`: combining marks are letters too.
template <bool marks>
Kind kind_of(char32_t c) noexcept {
  const Category category = unicode::category(c);
  if (category >= Category::letter_upper && category <= Category::letter_other) return Kind::letter;
  if (marks && category >= Category::mark_nonspacing && category <= Category::mark_enclosing)
    return Kind::letter;
  if (category >= Category::number_decimal && category <= Category::number_other) return Kind::number;
  return unicode::is_white_space(c) ? Kind::space : Kind::other;
}

constexpr std::array<Kind, 128> kAsciiKinds = [] {
  std::array<Kind, 128> kinds{};
  for (std::size_t c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    kinds[c] = letter                            ? Kind::letter
               : c >= '0' && c <= '9'            ? Kind::number
               : c == '\n' || c == '\r'          ? Kind::newline
               : c == ' ' || (c >= 9 && c <= 13) ? Kind::space
                                                 : Kind::other;
  }
  return kinds;
}();

struct KindAndSize {
  Kind kind;
  std::uint32_t size;
};

template <bool marks = false>
[[gnu::always_inline]] inline KindAndSize kind_at(const ScanText& text, std::size_t place) noexcept {
  const auto known = [&](std::uint32_t c) {
    return static_cast<Kind>(marks ? text.kinds[c] >> 4 : text.kinds[c] & 15);
  };
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[place + i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {known(lead), 1};
  if (lead < 0xE0) return {known((lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu)), 2};
  if (lead < 0xF0) return {known((lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu)), 3};
  return {kind_of<marks>(decode_valid(text, place).value), 4};
}

inline bool is_space(Kind kind) noexcept {
  return kind == Kind::space || kind == Kind::newline;
}

template <bool marks = false>
inline std::size_t run_of(const ScanText& text, std::size_t place, Kind kind) noexcept {
  while (place < text.size()) {
    const KindAndSize next = kind_at<marks>(text, place);
    if (next.kind != kind) break;
    place += next.size;
  }
  return place;
}

// Length of the contraction ('s 't 're 've 'm 'll 'd) at `place`, or 0.
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
  std::size_t end = 0;          // of the run
  std::size_t last = 0;         // where its last code point begins
  std::size_t newline_end = 0;  // after its last line end; 0: none
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

// \s+(?!\S)|\s+ : all of a run at the end of the text; otherwise all but its last, which the next word takes.
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
  int digits = 3;              // at most so many in a piece
  bool long_s = false;         // caseless s is also U+017F
  bool spaces_at_end = false;  // \s++$ comes before the rule about line ends
  bool slashes = false;        // [\r\n/]* after punctuation
};

inline std::size_t end_of_digits(const ScanText& text, std::size_t place, int most) noexcept {
  for (int count = 0; count < most && place < text.size(); ++count) {
    const KindAndSize next = kind_at(text, place);
    if (next.kind != Kind::number) break;
    place += next.size;
  }
  return place;
}

// What cl100k and its descendants share after words: numbers, punctuation with line ends, spaces.
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

// 1 for what may stand before a word's letters in cl100k, but the apostrophe, which may begin a contraction.
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

// o200k's words: [A]*[B]+ or [A]+[B]*, A upper and title, B lower, and what has no case (C) in both.
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
  std::size_t lower_end = 0;  // of [A]*[B]+, or 0
  std::size_t upper_end = 0;  // of [A]+[B]*, or 0
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

// The end of a word of ASCII letters where nothing after it belongs to it, else 0.
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
  const bool may_lead = first.kind == Kind::space || first.kind == Kind::other;  // [^\r\n\p{L}\p{N}]
  CasedWord led, bare;
  if (may_lead && begin + first.size < text.size()) led = cased_word(text, begin + first.size);
  if (first.kind == Kind::letter || first.kind == Kind::other) bare = cased_word(text, begin);
  for (const std::size_t end : {led.lower_end, bare.lower_end, led.upper_end, bare.upper_end})
    if (end != 0) return end + contraction(text, end, true, options.long_s);
  return scan_rest<options>(text, begin, first);
}

// Where BERT's normalizer and pre-tokenizer give for the whole what they give for the parts: at ASCII signs,
// each by itself, and at white space, which goes to the part after it.
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

// Whether no normalizer takes it away, makes a space of it or joins it with a space after it.
inline bool is_solid(char32_t c) noexcept {
  if (c < 0x80) return c > ' ' && c != 0x7F;
  if (c == 0x2581) return false;  // sentencepiece's mark for a space
  const Category category = unicode::category(c);
  const bool mark = category >= Category::mark_nonspacing && category <= Category::mark_enclosing;
  return category >= Category::letter_upper && category <= Category::symbol_other && !(mark && c >= 0xFE00) &&
         !unicode::is_prepended(c);
}

// The next run of spaces with something solid before it.
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

// use(the scan as an integral constant), or otherwise() for WordScan::none.
template <class Use, class Otherwise>
auto with_scan(WordScan scan, Use use, Otherwise otherwise) {
  using namespace scanning;  // NOLINT: the names below
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
