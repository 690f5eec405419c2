// Character classes, case mapping and normalisation forms for tokenizers. To keep offsets, normalisation
// records for each output code point the input code points from which it results.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace regard::text::unicode {

// General categories (UAX 44). Each major class is a contiguous range, except C (Other): `unassigned` is the
// first value and the other members of C are the last.
enum class Category : std::uint8_t {
  unassigned,
  letter_upper,
  letter_lower,
  letter_title,
  letter_modifier,
  letter_other,
  mark_nonspacing,
  mark_spacing,
  mark_enclosing,
  number_decimal,
  number_letter,
  number_other,
  punctuation_connector,
  punctuation_dash,
  punctuation_open,
  punctuation_close,
  punctuation_initial,
  punctuation_final,
  punctuation_other,
  symbol_math,
  symbol_currency,
  symbol_modifier,
  symbol_other,
  separator_space,
  separator_line,
  separator_paragraph,
  control,
  format,
  surrogate,
  private_use,
};

// Bits of a code point's entry in the table of properties, which is built on first use.
enum Flag : std::uint16_t {
  kIsWord = 1,
  kIsBertPunctuation = 2,
  kIsBertControl = 4,
  kIsBertAccent = 8,
  kIsCombiningMark = 16,
  kIsNumeric = 32,
  kMayChangeInNfc = 64,  // the code point changes in NFC, or may compose with the preceding one
  kDecomposes = 128,     // the code point decomposes in NFD, or has a nonzero combining class
  kHasLower = 256,       // the code point differs from its lower case
  kStandsAlone = 512,    // Grapheme_Cluster_Break=Other: two of these form two clusters
  kIsPrepended = 1024,   // Grapheme_Cluster_Break=Prepend: forms a cluster with the following character
};
struct Properties {
  Category category = Category::unassigned;
  std::uint16_t flags = 0;
};
namespace detail {
constexpr char32_t kCodePoints = 0x110000;
inline constinit std::atomic<const Properties*> table{nullptr};
const Properties* make_table();
}  // namespace detail

inline const Properties& properties(char32_t c) noexcept {
  const Properties* table = detail::table.load(std::memory_order_acquire);
  if (table == nullptr) table = detail::make_table();
  return table[c < detail::kCodePoints ? c : 0xFFFF];
}
inline bool has(char32_t c, Flag flag) noexcept {
  return (properties(c).flags & flag) != 0;
}
inline Category category(char32_t c) noexcept {
  return properties(c).category;
}

// Return true if the category of the character is one of those from `first` to `last`.
inline bool is_within(char32_t c, Category first, Category last) noexcept {
  const Category k = category(c);
  return k >= first && k <= last;
}
inline bool is_letter(char32_t c) noexcept {
  return is_within(c, Category::letter_upper, Category::letter_other);
}
inline bool is_mark(char32_t c) noexcept {
  return is_within(c, Category::mark_nonspacing, Category::mark_enclosing);
}
inline bool is_number(char32_t c) noexcept {
  return is_within(c, Category::number_decimal, Category::number_other);
}
inline bool is_punctuation(char32_t c) noexcept {
  return is_within(c, Category::punctuation_connector, Category::punctuation_other);
}
// White space (White_Space in PropList.txt), which `\s` matches in tokenizer patterns.
constexpr bool is_white_space(char32_t c) noexcept {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
// Word characters (UTS 18), which `\w` matches: Alphabetic characters, marks, decimal numbers, connector
// punctuation, and join controls.
inline bool is_word(char32_t c) noexcept {
  return has(c, kIsWord);
}
// Character classes that components of Hugging Face's tokenizers use. Each class follows the Unicode version
// of its component.
inline bool is_bert_punctuation(char32_t c) noexcept {
  return has(c, kIsBertPunctuation);
}  // true for all ASCII punctuation and symbols too
inline bool is_bert_control(char32_t c) noexcept {
  return has(c, kIsBertControl);
}  // removed by BERT's cleaning: categories Cc, Cf and Co, except tab and line ends
inline bool is_bert_accent(char32_t c) noexcept {
  return has(c, kIsBertAccent);
}  // nonspacing marks (Mn), which BERT's normalizer strips
inline bool is_combining_mark(char32_t c) noexcept {
  return has(c, kIsCombiningMark);
}  // removed by StripAccents: Mn, Mc, Me
inline bool is_prepended(char32_t c) noexcept {
  return has(c, kIsPrepended);
}  // Grapheme_Cluster_Break=Prepend: forms a cluster with the following character
inline bool is_numeric(char32_t c) noexcept {
  return has(c, kIsNumeric);
}  // isolated by the pre-tokenizer Digits

// Convert to lower case with the unconditional part of SpecialCasing.txt (U+0130 maps to two code points).
// Return the number of code points in `lower`.
int to_lower(char32_t c, char32_t (&lower)[3]) noexcept;

enum class Form { nfc, nfd, nfkc, nfkd };

// A code point of a rewritten text. If `change` is 1, the code point is inserted; otherwise, it replaces the
// next 1 − `change` code points of the old text.
struct Change {
  char32_t value = 0;
  int change = 0;
};

// Append the normalisation form of `text` to `out`.
void normalize(Form form, std::u32string_view text, std::vector<Change>& out);
// Return true if no normalisation form composes `c` with preceding characters or reorders `c`. A text may be
// split before such a character.
bool begins_anew(char32_t c) noexcept;
// Return true only if the text certainly has the normalisation form already. False means unknown.
bool surely_normal(Form form, std::string_view text) noexcept;

}  // namespace regard::text::unicode
