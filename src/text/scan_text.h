// ScanText, the text that a scanner reads. Functions return the kind of a code point and the end of a
// sequence of code points of one kind. Vector instructions speed up sequences of ASCII letters.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/unicode.h"

namespace regard::text::scanning {

enum class Kind : std::uint8_t { letter, number, space, newline, other };

// Return a table with one byte for each code point below 0x10000; it is computed on first use. The low four
// bits are the Kind; the high four bits are the Kind if combining marks count as letters.
const std::uint8_t* kinds_of_most();

// A valid UTF-8 text. `readable` is the number of bytes that may be read from `data`, at least `length`.
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

struct Symbol {
  char32_t value;
  std::uint32_t size;  // length in bytes
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

constexpr std::size_t kBlock = 32;  // number of bytes compared at once

// Return a mask in which bit i is set if byte i of the block is an ASCII letter.
inline std::uint32_t letters_of(const char* block) noexcept {
#if defined(__SSE2__)
  const auto letters = [&](std::size_t first) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + first));
    const __m128i place = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(place, _mm_set1_epi8(25)), place);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(letter));
  };
  return letters(0) | letters(16) << 16;
#else
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto lower = static_cast<unsigned char>(block[i] | 0x20);
    bits |= static_cast<std::uint32_t>(lower >= 'a' && lower <= 'z') << i;
  }
  return bits;
#endif
}

// Return the number of ASCII letters that start at `place` if an ASCII byte follows them within kBlock bytes.
// Otherwise, return 0; the caller must then examine the code points one by one.
[[gnu::always_inline]] inline std::size_t plain_letters(const ScanText& text, std::size_t place) noexcept {
  if (place + kBlock > text.readable) return 0;
  const auto run = static_cast<std::size_t>(std::countr_one(letters_of(text.data + place)));
  if (run == kBlock || static_cast<signed char>(text.data[place + run]) < 0) return 0;
  return std::min(run, text.length - place);
}

using unicode::Category;

// If `marks` is true, combining marks count as letters.
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

}  // namespace regard::text::scanning
