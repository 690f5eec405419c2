// UTF-8 as the Unicode standard has it (no surrogates, no overlong forms, nothing above U+10FFFF), and text
// as a reader sees it: grapheme clusters and how many terminal cells they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::utf8 {

// One code point and its length in bytes. `valid` is false at a byte that begins no code point; then size is
// the length of the maximal ill-formed part (1 to 3 bytes), and value is U+FFFD.
struct Decoded {
  char32_t value = 0;
  int size = 0;  // bytes
  bool valid = false;
};

Decoded decode_any(std::string_view text, std::size_t position) noexcept;

// The code point at `text[position]`; position < text.size(). What most text is made of is decoded here, the
// rest by decode_any().
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
  // Not 0xE0 and 0xED: after these not every byte may follow.
  if (lead > 0xE0 && lead < 0xF0 && lead != 0xED && left >= 3 && continues(1) && continues(2))
    return {(lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3, true};
  return decode_any(text, position);
}

// The index of the first byte that is not part of valid UTF-8, or nothing.
std::optional<std::size_t> first_bad_byte(std::string_view text) noexcept;
bool valid(std::string_view text) noexcept;

void append(std::string& text, char32_t code_point);  // surrogates and values above U+10FFFF become U+FFFD
std::string encode(std::u32string_view code_points);
std::u32string code_points(std::string_view text);  // ill-formed parts become U+FFFD
std::size_t count(std::string_view text) noexcept;  // code points, each ill-formed part as one

// Canonical composition (UAX 15). The text must be valid UTF-8; otherwise usage is thrown.
std::string nfc(std::string_view text);

// Lower case by the Unicode standard (3.13, toLowercase): İ becomes two code points and a capital sigma that
// ends a word becomes ς.
std::u32string lower(std::u32string_view text);

// White space by Unicode's bidirectional classes, as Python's str.isspace() and str.split() have it.
bool is_space(char32_t code_point) noexcept;

// Extended grapheme clusters (UAX 29, with its rule for Indic conjuncts): the pieces, in order, that a reader
// takes for one letter. They are views into `text`, and joined they are `text`.
std::vector<std::string_view> graphemes(std::string_view text);

// Terminal cells that the cluster or text takes: 2 for wide East Asian letters, emoji and flags, 0 for marks
// above and below a letter, and 1 for each other visible code point, so the consonants of a Devanagari
// conjunct take a cell each, as terminals that add up code points do. Control characters take 0.
int cluster_width(std::string_view cluster) noexcept;
int width(std::string_view text);

}  // namespace regard::utf8
