// UTF-8 as defined by the Unicode standard (no surrogates, no overlong forms, nothing above U+10FFFF),
// grapheme clusters, and their width in terminal cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"

namespace regard::utf8 {

// A decoded code point and its length in bytes. If the bytes are not valid UTF-8, `valid` is false, `size` is
// the length of the maximal ill-formed part (1 to 3 bytes), and `value` is U+FFFD.
struct Decoded {
  char32_t value = 0;
  int size = 0;  // length in bytes
  bool valid = false;
};

Decoded decode_any(std::string_view text, std::size_t position) noexcept;

// Decode the code point at `text[position]`; requires position < text.size(). Common sequences are decoded
// inline, the others by decode_any().
inline Decoded decode(std::string_view text, std::size_t position) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[position + i]));
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const std::size_t left = text.size() - position;
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead >= 0xC2 && lead < 0xE0 && left >= 2 && continues(1))
    return {(lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2, true};
  // Lead bytes 0xE0 and 0xED are excluded, because they restrict the second byte.
  if (lead > 0xE0 && lead < 0xF0 && lead != 0xED && left >= 3 && continues(1) && continues(2))
    return {(lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3, true};
  return decode_any(text, position);
}

// Return the index of the first byte that is not part of valid UTF-8, or std::nullopt.
std::optional<std::size_t> first_bad_byte(std::string_view text) noexcept;
bool valid(std::string_view text) noexcept;

void append(std::string& text, char32_t code_point);  // surrogates and values above U+10FFFF become U+FFFD
std::string encode(std::u32string_view code_points);
// converts text to code points; ill-formed parts become U+FFFD
std::u32string code_points(std::string_view text);
// number of code points; each ill-formed part counts as one
std::size_t count(std::string_view text) noexcept;

// Return the canonical composition (UAX 15). Throws invalid_input if the text is not valid UTF-8.
std::string nfc(std::string_view text);

// Convert to lower case as the Unicode standard defines it (3.13, toLowercase): İ becomes two code points,
// and a capital sigma at the end of a word becomes ς.
std::u32string lower(std::u32string_view text);

// Return true for white space by Unicode's bidirectional classes, as in Python's str.isspace() and
// str.split().
bool is_space(char32_t code_point) noexcept;

// Split the text into extended grapheme clusters (UAX 29, with its rule for Indic conjuncts), in order. The
// results are views into `text`; concatenated they equal `text`.
std::vector<std::string_view> graphemes(std::string_view text);

// Return the width of the cluster or text in terminal cells. The width is 2 for wide East Asian letters,
// emoji and flags, 0 for combining marks and control characters, and 1 for each other visible code point. So
// each consonant of a Devanagari conjunct takes one cell, as in terminals that add up the widths of code
// points.
int cluster_width(std::string_view cluster) noexcept;
int width(std::string_view text);

}  // namespace regard::utf8
