// Character classes, case mapping and normal forms as tokenizers need them: by code point, and for the normal
// forms with the record of which output came from which input, so that offsets survive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace regard::text::unicode {

// General categories (UAX 44), in an order in which each major class is a range.
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

Category category(char32_t c) noexcept;

inline bool is_letter(char32_t c) noexcept {
  const Category k = category(c);
  return k >= Category::letter_upper && k <= Category::letter_other;
}
inline bool is_mark(char32_t c) noexcept {
  const Category k = category(c);
  return k >= Category::mark_nonspacing && k <= Category::mark_enclosing;
}
inline bool is_number(char32_t c) noexcept {
  const Category k = category(c);
  return k >= Category::number_decimal && k <= Category::number_other;
}
inline bool is_punctuation(char32_t c) noexcept {
  const Category k = category(c);
  return k >= Category::punctuation_connector && k <= Category::punctuation_other;
}
// White_Space (PropList.txt): what `\s` means in the patterns of tokenizers.
constexpr bool is_white_space(char32_t c) noexcept {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
// `\w` (UTS 18): Alphabetic, marks, decimal numbers, connector punctuation, and join controls.
bool is_word(char32_t c) noexcept;
// Classes as single components of Hugging Face's tokenizers have them, each with the version of Unicode that
// the component carries.
bool is_bert_punctuation(char32_t c) noexcept;  // all of ASCII's signs, too
bool is_bert_control(char32_t c) noexcept;      // what cleaning removes: Cc, Cf, Co but tab and line ends
bool is_bert_accent(char32_t c) noexcept;       // Mn
bool is_combining_mark(char32_t c) noexcept;    // what StripAccents removes: Mn, Mc, Me
bool is_prepended(char32_t c) noexcept;         // Grapheme_Cluster_Break=Prepend: takes what follows along
bool is_numeric(char32_t c) noexcept;           // what Digits cuts out

// Lower case (SpecialCasing's unconditional part: U+0130 becomes two). Returns how many of `lower` are set.
int to_lower(char32_t c, char32_t (&lower)[3]) noexcept;

enum class Form { nfc, nfd, nfkc, nfkd };

// A code point of a rewritten text. change 0: stands for the next one of the old text; 1: inserted after the
// one before; -n: stands for the next one, and n more of the old text after that are gone.
struct Change {
  char32_t value = 0;
  int change = 0;
};

// Appends the normal form of `text` to `out`.
void normalize(Form form, std::u32string_view text, std::vector<Change>& out);
// Whether the text is certainly in the form already: true needs no work, false says nothing.
bool surely_normal(Form form, std::string_view text) noexcept;

}  // namespace regard::text::unicode
