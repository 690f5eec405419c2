#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace regard::text::unicode {
namespace {

constexpr std::size_t kCodePoints = 0x110000;

Category from_utf8proc(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
      return Category::letter_upper;
    case UTF8PROC_CATEGORY_LL:
      return Category::letter_lower;
    case UTF8PROC_CATEGORY_LT:
      return Category::letter_title;
    case UTF8PROC_CATEGORY_LM:
      return Category::letter_modifier;
    case UTF8PROC_CATEGORY_LO:
      return Category::letter_other;
    case UTF8PROC_CATEGORY_MN:
      return Category::mark_nonspacing;
    case UTF8PROC_CATEGORY_MC:
      return Category::mark_spacing;
    case UTF8PROC_CATEGORY_ME:
      return Category::mark_enclosing;
    case UTF8PROC_CATEGORY_ND:
      return Category::number_decimal;
    case UTF8PROC_CATEGORY_NL:
      return Category::number_letter;
    case UTF8PROC_CATEGORY_NO:
      return Category::number_other;
    case UTF8PROC_CATEGORY_PC:
      return Category::punctuation_connector;
    case UTF8PROC_CATEGORY_PD:
      return Category::punctuation_dash;
    case UTF8PROC_CATEGORY_PS:
      return Category::punctuation_open;
    case UTF8PROC_CATEGORY_PE:
      return Category::punctuation_close;
    case UTF8PROC_CATEGORY_PI:
      return Category::punctuation_initial;
    case UTF8PROC_CATEGORY_PF:
      return Category::punctuation_final;
    case UTF8PROC_CATEGORY_PO:
      return Category::punctuation_other;
    case UTF8PROC_CATEGORY_SM:
      return Category::symbol_math;
    case UTF8PROC_CATEGORY_SC:
      return Category::symbol_currency;
    case UTF8PROC_CATEGORY_SK:
      return Category::symbol_modifier;
    case UTF8PROC_CATEGORY_SO:
      return Category::symbol_other;
    case UTF8PROC_CATEGORY_ZS:
      return Category::separator_space;
    case UTF8PROC_CATEGORY_ZL:
      return Category::separator_line;
    case UTF8PROC_CATEGORY_ZP:
      return Category::separator_paragraph;
    case UTF8PROC_CATEGORY_CC:
      return Category::control;
    case UTF8PROC_CATEGORY_CF:
      return Category::format;
    case UTF8PROC_CATEGORY_CS:
      return Category::surrogate;
    case UTF8PROC_CATEGORY_CO:
      return Category::private_use;
    case UTF8PROC_CATEGORY_CN:
      break;
  }
  return Category::unassigned;
}

// One byte a code point: a lookup is one load, and only the pages of scripts in use are touched.
const Category* categories() noexcept {
  static const Category* const table = [] {
    static std::array<Category, kCodePoints> all;
    for (std::size_t c = 0; c < kCodePoints; ++c)
      all[c] = from_utf8proc(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    return all.data();
  }();
  return table;
}

bool other_alphabetic_symbol(char32_t c) noexcept {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

int combining_class(char32_t c) noexcept {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

// The canonical composite of two code points, if there is one.
std::optional<char32_t> composite(char32_t first, char32_t second) noexcept {
  std::array<utf8proc_int32_t, 3> pair = {static_cast<utf8proc_int32_t>(first),
                                          static_cast<utf8proc_int32_t>(second), 0};
  const auto left = utf8proc_normalize_utf32(
      pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (left != 1) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
}

// Decomposes and puts the marks after each starter in canonical order (UAX 15, D108 and D109).
void decompose(bool compatibility, std::u32string_view text, std::vector<Change>& out) {
  std::array<utf8proc_int32_t, 32> parts;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  std::size_t pending = out.size();  // where the marks after the last starter begin
  const auto by_class = [](const Change& a, const Change& b) {
    return combining_class(a.value) < combining_class(b.value);
  };
  for (const char32_t c : text) {
    int boundary = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                static_cast<utf8proc_ssize_t>(parts.size()), options, &boundary);
    if (count <= 0) {
      out.push_back({c, 0});
      pending = out.size();
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      if (combining_class(part) == 0) {
        std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(pending), out.end(), by_class);
        out.push_back({part, i == 0 ? 0 : 1});
        pending = out.size();
      } else {
        out.push_back({part, i == 0 ? 0 : 1});
      }
    }
  }
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(pending), out.end(), by_class);
}

// Composes in place (UAX 15, D117): each mark that is not blocked joins the last starter where a composite
// exists; the composite stands for what both stood for.
void compose(std::vector<Change>& text, std::size_t begin) {
  std::size_t kept = begin;
  std::optional<std::size_t> starter;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing
  for (std::size_t i = begin; i < text.size(); ++i) {
    const Change current = text[i];
    const int current_class = combining_class(current.value);
    if (starter && last_class < current_class) {
      if (const auto joined = composite(text[*starter].value, current.value)) {
        text[*starter] = {*joined, text[*starter].change + current.change - 1};
        continue;
      }
    }
    if (current_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = current_class;
    }
    text[kept++] = current;
  }
  text.resize(kept);
}

}  // namespace

Category category(char32_t c) noexcept {
  return c < kCodePoints ? categories()[c] : Category::unassigned;
}

bool is_word_no_join(char32_t c) noexcept {
  const Category k = category(c);
  return (k >= Category::letter_upper && k <= Category::number_letter) ||
         k == Category::punctuation_connector || other_alphabetic_symbol(c);
}

bool is_word(char32_t c) noexcept {
  return is_word_no_join(c) || c == 0x200C || c == 0x200D;
}

int to_lower(char32_t c, char32_t (&lower)[3]) noexcept {
  if (c == 0x130) {
    lower[0] = 'i';
    lower[1] = 0x307;
    return 2;
  }
  lower[0] = c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c)
                      : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return 1;
}

void normalize(Form form, std::u32string_view text, std::vector<Change>& out) {
  const std::size_t begin = out.size();
  decompose(form == Form::nfkc || form == Form::nfkd, text, out);
  if (form == Form::nfc || form == Form::nfkc) compose(out, begin);
}

bool surely_normal(Form form, std::string_view text) noexcept {
  // Below U+0080 nothing decomposes; in NFC nothing below U+0300 (first byte 0xCC) does or joins.
  const unsigned char limit = form == Form::nfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(), [limit](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b < limit;
  });
}

}  // namespace regard::text::unicode
