#include "text/scanners.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"
#include "text/unicode.h"

namespace regard::text {
namespace {

using unicode::Category;

enum class Kind : std::uint8_t { letter, number, space, newline, other };

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
inline KindAndSize kind_at(std::string_view text, std::size_t place) noexcept {
  const auto byte = static_cast<unsigned char>(text[place]);
  if (byte < 0x80) return {kAsciiKinds[byte], 1};
  const utf8::Decoded symbol = utf8::decode(text, place);
  return {kind_of<marks>(symbol.value), static_cast<std::uint32_t>(symbol.size)};
}

inline bool is_space(Kind kind) noexcept {
  return kind == Kind::space || kind == Kind::newline;
}

template <bool marks = false>
inline std::size_t run_of(std::string_view text, std::size_t place, Kind kind) noexcept {
  while (place < text.size()) {
    const KindAndSize next = kind_at<marks>(text, place);
    if (next.kind != kind) break;
    place += next.size;
  }
  return place;
}

// Length of the contraction ('s 't 're 've 'm 'll 'd) at `place`, or 0.
std::size_t contraction(std::string_view text, std::size_t place, bool any_case, bool long_s) noexcept {
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

Spaces spaces_at(std::string_view text, std::size_t begin) noexcept {
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
std::size_t end_of_spaces(std::string_view text, const Spaces& run, std::size_t begin) noexcept {
  return run.end == text.size() || run.last == begin ? run.end : run.last;
}

template <bool marks>
std::size_t scan_gpt2(std::string_view text, std::size_t begin) {
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

std::size_t end_of_digits(std::string_view text, std::size_t place, int most) noexcept {
  for (int count = 0; count < most && place < text.size(); ++count) {
    const KindAndSize next = kind_at(text, place);
    if (next.kind != Kind::number) break;
    place += next.size;
  }
  return place;
}

// What cl100k and its descendants share after words: numbers, punctuation with line ends, spaces.
template <Options options>
std::size_t scan_rest(std::string_view text, std::size_t begin, KindAndSize first) noexcept {
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

template <Options options>
std::size_t scan_cl100k(std::string_view text, std::size_t begin) {
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

Cased cased(Category category) noexcept {
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

CasedWord cased_word(std::string_view text, std::size_t begin) noexcept {
  const auto at = [&](std::size_t place) {
    const utf8::Decoded symbol = utf8::decode(text, place);
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

template <Options options>
std::size_t scan_o200k(std::string_view text, std::size_t begin) {
  const KindAndSize first = kind_at(text, begin);
  const bool may_lead = first.kind == Kind::space || first.kind == Kind::other;  // [^\r\n\p{L}\p{N}]
  CasedWord led, bare;
  if (may_lead && begin + first.size < text.size()) led = cased_word(text, begin + first.size);
  if (first.kind == Kind::letter || first.kind == Kind::other) bare = cased_word(text, begin);
  for (const std::size_t end : {led.lower_end, bare.lower_end, led.upper_end, bare.upper_end})
    if (end != 0) return end + contraction(text, end, true, options.long_s);
  return scan_rest<options>(text, begin, first);
}

}  // namespace

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kWordsPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kCl100kPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
const std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::string_view kTiktokenCl100kPattern =
    R"('(?i:[sdmtſ]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
const std::string_view kTiktokenO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'ſ|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'ſ|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Scanner published_scanner(std::string_view expression) {
  if (expression == kGpt2Pattern) return scan_gpt2<false>;
  if (expression == kWordsPattern) return scan_gpt2<true>;
  if (expression == kCl100kPattern || expression == kLlama3Pattern) return scan_cl100k<Options{}>;
  if (expression == kQwen2Pattern) return scan_cl100k<Options{.digits = 1}>;
  if (expression == kTiktokenCl100kPattern)
    return scan_cl100k<Options{.long_s = true, .spaces_at_end = true}>;
  if (expression == kTiktokenO200kPattern) return scan_o200k<Options{.long_s = true, .slashes = true}>;
  if (expression == kO200kPattern) return scan_o200k<Options{.slashes = true}>;
  return nullptr;
}

Scanner gpt2_scanner() {
  return scan_gpt2<false>;
}

}  // namespace regard::text
