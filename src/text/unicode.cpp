#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/utf8.h"
#include "text/unicode_reference.h"

namespace regard::text::unicode {
namespace {

using detail::kCodePoints;

// Categories in the order of utf8proc_category_t.
constexpr Category kCategories[] = {Category::unassigned,
                                    Category::letter_upper,
                                    Category::letter_lower,
                                    Category::letter_title,
                                    Category::letter_modifier,
                                    Category::letter_other,
                                    Category::mark_nonspacing,
                                    Category::mark_spacing,
                                    Category::mark_enclosing,
                                    Category::number_decimal,
                                    Category::number_letter,
                                    Category::number_other,
                                    Category::punctuation_connector,
                                    Category::punctuation_dash,
                                    Category::punctuation_open,
                                    Category::punctuation_close,
                                    Category::punctuation_initial,
                                    Category::punctuation_final,
                                    Category::punctuation_other,
                                    Category::symbol_math,
                                    Category::symbol_currency,
                                    Category::symbol_modifier,
                                    Category::symbol_other,
                                    Category::separator_space,
                                    Category::separator_line,
                                    Category::separator_paragraph,
                                    Category::control,
                                    Category::format,
                                    Category::surrogate,
                                    Category::private_use};
static_assert(UTF8PROC_CATEGORY_CN == 0 && UTF8PROC_CATEGORY_ND == 9 && UTF8PROC_CATEGORY_SM == 19 &&
              UTF8PROC_CATEGORY_CO + 1 == std::size(kCategories));

// Word characters with a category that other characters also have: alphabetic symbols and joiners.
constexpr FlagRange kOtherWord[] = {{0x200C, 0x200D, true},
                                    {0x24B6, 0x24E9, true},
                                    {0x1F130, 0x1F149, true},
                                    {0x1F150, 0x1F169, true},
                                    {0x1F170, 0x1F189, true}};

bool is_one_of(Category category, Category first, Category last) {
  return category >= first && category <= last;
}

// Return the flags that follow from the category.
std::uint16_t flags_of(Category k) {
  const bool mark = is_one_of(k, Category::mark_nonspacing, Category::mark_enclosing);
  const bool number = is_one_of(k, Category::number_decimal, Category::number_other);
  const bool word =
      is_one_of(k, Category::letter_upper, Category::number_letter) || k == Category::punctuation_connector;
  const bool control = k == Category::control || k == Category::format || k == Category::private_use;
  const bool punctuation = is_one_of(k, Category::punctuation_connector, Category::punctuation_other);
  return static_cast<std::uint16_t>((word ? kIsWord : 0) | (mark ? kIsCombiningMark : 0) |
                                    (number ? kIsNumeric : 0) | (control ? kIsBertControl : 0) |
                                    (k == Category::mark_nonspacing ? kIsBertAccent : 0) |
                                    (punctuation ? kIsBertPunctuation : 0));
}

bool changes_in_lower_case(char32_t c) {
  char32_t lower[3];
  return to_lower(c, lower) != 1 || lower[0] != c;
}

const utf8proc_property_t& property_of(char32_t c) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
}

// Return the entry of a code point from U+0080 on with this property, without case and exceptions.
Properties entry_of(const utf8proc_property_t& property) {
  const Category category = kCategories[property.category];
  const bool decomposes = property.combining_class != 0 || property.decomp_seqindex != UINT16_MAX;
  const int flags = flags_of(category) | (decomposes ? kDecomposes : 0) |
                    (property.boundclass == UTF8PROC_BOUNDCLASS_OTHER ? kStandsAlone : 0) |
                    (property.boundclass == UTF8PROC_BOUNDCLASS_PREPEND ? kIsPrepended : 0);
  return {category, static_cast<std::uint16_t>(flags)};
}

// The entries of all code points, computed in a few milliseconds: programs that run briefly wait for it.
class Tables {
 public:
  Tables() : all_(kCodePoints) {
    set_ascii();
    set_by_property();
    for (const CategoryRange& range : kNewerCategories)
      for (char32_t c = range.first; c <= range.last; ++c) {
        all_[c].category = range.category;
        if ((flags_of(range.category) & kIsWord) != 0) set(c, kIsWord, true);
      }
    apply(kOtherWord, kIsWord);
    apply(kWord, kIsWord);
    apply(kBertPunctuation, kIsBertPunctuation);
    apply(kBertControl, kIsBertControl);
    apply(kBertAccent, kIsBertAccent);
    apply(kCombiningMark, kIsCombiningMark);
    apply(kNumeric, kIsNumeric);
    mark_nfc();
    for (const LowerPair& pair : kLower) set(pair.upper, kHasLower, changes_in_lower_case(pair.upper));
  }
  const Properties* all() const noexcept { return all_.data(); }

 private:
  void set(char32_t c, Flag flag, bool value) {
    all_[c].flags = static_cast<std::uint16_t>(value ? all_[c].flags | flag : all_[c].flags & ~flag);
  }
  void apply(std::span<const FlagRange> ranges, Flag flag) {
    for (const FlagRange& range : ranges)
      for (char32_t c = range.first; c <= range.last; ++c) set(c, flag, range.value);
  }
  void set_ascii();
  void set_by_property();
  void mark_nfc();
  std::vector<Properties> all_;
};

void Tables::set_ascii() {
  for (char32_t c = 0; c < 0x80; ++c) {
    const Category category = kCategories[property_of(c).category];
    all_[c] = {category, flags_of(category)};
    if (is_one_of(category, Category::symbol_math, Category::symbol_other)) set(c, kIsBertPunctuation, true);
  }
  for (const char32_t c : {U'\t', U'\n', U'\r'}) set(c, kIsBertControl, false);
}

// Consecutive code points often have the same object of utf8proc, and then equal entries.
void Tables::set_by_property() {
  constexpr char32_t kEndOfAssigned = 0x33FFF, kAssignedAgain = 0xE0000;
  const utf8proc_property_t* last = nullptr;
  Properties entry;
  for (char32_t c = 0x80; c < kCodePoints; ++c) {
    const utf8proc_property_t& property = property_of(c);
    if (&property != last) entry = entry_of(property);
    last = &property;
    all_[c] = entry;
    if (property.lowercase_seqindex != UINT16_MAX) set(c, kHasLower, changes_in_lower_case(c));
    if (c == kEndOfAssigned) c = kAssignedAgain - 1;  // skip a large unassigned range
  }
  for (char32_t c = 0xAC00; c < 0xD7A4; ++c) set(c, kDecomposes, true);  // Hangul syllables, by a formula
}

bool in_ranges(const std::vector<Range>& ranges, char32_t c) noexcept {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

int combining_class(char32_t c) noexcept {
  const int value = property_of(c).combining_class;
  return value != 0 && in_ranges(kClassZero, c) ? 0 : value;
}

// Return the canonical composite of two code points; nullopt if there is none.
std::optional<char32_t> composite(char32_t first, char32_t second) noexcept {
  std::array<utf8proc_int32_t, 3> pair = {static_cast<utf8proc_int32_t>(first),
                                          static_cast<utf8proc_int32_t>(second), 0};
  const auto left = utf8proc_normalize_utf32(
      pair.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  const auto joined = static_cast<char32_t>(pair[0]);
  if (left != 1 || in_ranges(kUndecomposed, joined)) return std::nullopt;
  return joined;
}

void Tables::mark_nfc() {
  const auto mark = [this](char32_t c) { set(c, kMayChangeInNfc, true); };
  for (char32_t c = 0xC0; c < 0x2FA20; ++c) {
    if (c == 0xAC00) c = 0xD7A4;  // precomposed Hangul syllables are stable in NFC
    if ((all_[c].flags & kDecomposes) == 0 || property_of(c).decomp_seqindex == UINT16_MAX) continue;
    std::array<utf8proc_int32_t, 8> parts{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), 8,
                                               UTF8PROC_DECOMPOSE, &boundary);
    if (count <= 1 && static_cast<char32_t>(parts[0]) == c) continue;
    const auto left = utf8proc_normalize_utf32(
        parts.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    if (left != 1 || static_cast<char32_t>(parts[0]) != c) mark(c);
    utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), 8, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 1; i < count; ++i)
      mark(static_cast<char32_t>(parts[static_cast<std::size_t>(i)]));
  }
  for (char32_t c = 0x1161; c < 0x11C3; ++c)
    mark(c);  // Jamo vowels and finals compose with the preceding syllable
}

// Append the decomposition of the text. Marks after each starter are sorted in canonical order (Unicode
// Standard, D108 and D109).
void decompose(bool compatibility, std::u32string_view text, std::vector<Change>& out) {
  std::array<utf8proc_int32_t, 32> parts;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  std::size_t pending = out.size();  // index of the first mark after the last starter
  const auto by_class = [](const Change& a, const Change& b) {
    return combining_class(a.value) < combining_class(b.value);
  };
  for (const char32_t c : text) {
    int boundary = 0;
    const auto count =
        in_ranges(kUndecomposed, c)
            ? 0
            : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
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

// Canonical composition in place (Unicode Standard, D117): each character that is not blocked is combined
// with the last starter if a composite of the two exists. The composite is aligned with the old code points
// of both characters.
void compose(std::vector<Change>& text, std::size_t begin) {
  std::size_t kept = begin;
  std::optional<std::size_t> starter;
  int last_class = -1;  // combining class of the last character since the starter; -1 if there is none
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

const Properties* detail::make_table() {
  static const Tables tables;
  table.store(tables.all(), std::memory_order_release);
  return tables.all();
}

int to_lower(char32_t c, char32_t (&lower)[3]) noexcept {
  if (c == 0x130) {
    lower[0] = 'i';
    lower[1] = 0x307;
    return 2;
  }
  const auto newer =
      std::lower_bound(kLower.begin(), kLower.end(), c,
                       [](const LowerPair& pair, char32_t value) { return pair.upper < value; });
  if (c < 0x80) {
    lower[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
  } else if (newer != kLower.end() && newer->upper == c) {
    lower[0] = newer->lower;
  } else {
    lower[0] = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
  return 1;
}

void normalize(Form form, std::u32string_view text, std::vector<Change>& out) {
  const std::size_t begin = out.size();
  decompose(form == Form::nfkc || form == Form::nfkd, text, out);
  if (form == Form::nfc || form == Form::nfkc) compose(out, begin);
}

bool begins_anew(char32_t c) noexcept {
  const auto apart = [](char32_t sign) { return combining_class(sign) == 0 && !has(sign, kMayChangeInNfc); };
  if (!apart(c)) return false;
  if (c < 0x80 || in_ranges(kUndecomposed, c)) return true;
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(c), parts.data(), 32,
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &boundary);
  return count <= 0 || apart(static_cast<char32_t>(parts[0]));
}

bool surely_normal(Form form, std::string_view text) noexcept {
  const auto below = [text](unsigned char limit) {
    return std::all_of(text.begin(), text.end(),
                       [limit](char c) { return static_cast<unsigned char>(c) < limit; });
  };
  // Code points below U+0080 do not decompose. In NFC, those below U+0300 (first byte 0xCC) neither
  // decompose nor compose.
  if (form != Form::nfc) return below(0x80);
  if (below(0xCC)) return true;
  int last_class = 0;
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded symbol = utf8::decode(text, i);
    i += static_cast<std::size_t>(symbol.size);
    if (symbol.value < 0x300) {
      last_class = 0;
      continue;
    }
    if (has(symbol.value, kMayChangeInNfc)) return false;
    const int combining = combining_class(symbol.value);
    if (combining != 0 && combining < last_class) return false;
    last_class = combining;
  }
  return true;
}

}  // namespace regard::text::unicode
