#include "base/utf8.h"

#if REGARD_HAVE_SIMDJSON
#include <simdjson.h>
#endif
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "regard/error.h"

namespace regard::utf8 {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

std::uint8_t byte_at(std::string_view text, std::size_t position) {
  return static_cast<std::uint8_t>(text[position]);
}

struct Range {
  char32_t first, last;
};

// Code points whose property Indic_Conjunct_Break is Linker or Consonant (Unicode 15.1,
// DerivedCoreProperties.txt).
constexpr std::array<char32_t, 6> kLinkers = {0x094D, 0x09CD, 0x0ACD, 0x0B4D, 0x0C4D, 0x0D4D};
constexpr std::array<Range, 26> kConsonants = {{
    {0x0915, 0x0939}, {0x0958, 0x095F}, {0x0978, 0x097F}, {0x0995, 0x09A8}, {0x09AA, 0x09B0},
    {0x09B2, 0x09B2}, {0x09B6, 0x09B9}, {0x09DC, 0x09DD}, {0x09DF, 0x09DF}, {0x09F0, 0x09F1},
    {0x0A95, 0x0AA8}, {0x0AAA, 0x0AB0}, {0x0AB2, 0x0AB3}, {0x0AB5, 0x0AB9}, {0x0AF9, 0x0AF9},
    {0x0B15, 0x0B28}, {0x0B2A, 0x0B30}, {0x0B32, 0x0B33}, {0x0B35, 0x0B39}, {0x0B5C, 0x0B5D},
    {0x0B5F, 0x0B5F}, {0x0B71, 0x0B71}, {0x0C15, 0x0C28}, {0x0C2A, 0x0C39}, {0x0C58, 0x0C5A},
    {0x0D15, 0x0D3A},
}};

bool is_linker(char32_t c) {
  return std::find(kLinkers.begin(), kLinkers.end(), c) != kLinkers.end();
}

bool is_consonant(char32_t c) {
  return std::any_of(kConsonants.begin(), kConsonants.end(),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

// State of the grapheme cluster rule GB9c (Indic conjuncts). `consonant` is true if the text so far ends with
// a consonant and any number of marks; `linked` is true if one of these marks is a linker.
struct Conjunct {
  bool consonant = false, linked = false;

  bool joins(char32_t next) const { return consonant && linked && is_consonant(next); }
  void pass(char32_t c) {
    if (is_consonant(c)) {
      *this = {true, false};
    } else if (is_linker(c)) {
      linked = consonant;
    } else {
      const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
      const bool mark = property->combining_class != 0 || c == 0x200D;
      if (!mark) *this = {};
    }
  }
};

bool is_cased(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// Return true for case-ignorable code points (marks, format characters and others). The rule Final_Sigma
// skips them.
bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019;
  }
}

// Return true if the condition Final_Sigma holds at `place`: a cased letter precedes it and none follows it.
bool ends_a_word(std::u32string_view text, std::size_t place) {
  std::size_t before = place, after = place + 1;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return before > 0 && is_cased(text[before - 1]) && (after == text.size() || !is_cased(text[after]));
}

int code_point_width(char32_t c) {
  const auto value = static_cast<utf8proc_int32_t>(c);
  switch (utf8proc_category(value)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CC:
      return c == 0x00AD ? 1 : 0;  // the soft hyphen (U+00AD) is visible
    case UTF8PROC_CATEGORY_MC:
      return 1;
    default:
      return utf8proc_charwidth(value);
  }
}

}  // namespace

Decoded decode_any(std::string_view text, std::size_t position) noexcept {
  const std::uint8_t lead = byte_at(text, position);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {kReplacement, 1, false};
  const int size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t value = lead & (0x7Fu >> size);
  // The range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF.
  std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < size; ++i) {
    const std::size_t at = position + static_cast<std::size_t>(i);
    if (at >= text.size() || byte_at(text, at) < low || byte_at(text, at) > high)
      return {kReplacement, i, false};
    value = value << 6 | (byte_at(text, at) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {value, size, true};
}

bool valid(std::string_view text) noexcept {
#if REGARD_HAVE_SIMDJSON
  constexpr std::size_t kWorthACall = 32;
  if (text.size() >= kWorthACall) return simdjson::validate_utf8(text.data(), text.size());
#endif
  return !first_bad_byte(text);
}

std::optional<std::size_t> first_bad_byte(std::string_view text) noexcept {
  const auto load = [&](std::size_t place, auto& word) {
    std::memcpy(&word, text.data() + place, sizeof word);
  };
  for (std::size_t i = 0; i < text.size();) {
    std::uint64_t eight = 0;
    while (i + 8 <= text.size()) {
      load(i, eight);
      if ((eight & 0x8080808080808080u) != 0) break;
      i += 8;
    }
    while (i < text.size() && byte_at(text, i) < 0x80) ++i;
    // Fast path for sequences of three and two bytes, which cover most scripts.
    while (i + 4 <= text.size()) {
      std::uint32_t four = 0;
      load(i, four);
      const std::uint32_t lead = four & 0xFFu;
      const std::uint32_t second = four >> 8 & 0xFFu;
      if ((four & 0xC0C0F0u) == 0x8080E0u && (lead != 0xE0 || second >= 0xA0) &&
          (lead != 0xED || second < 0xA0)) {
        i += 3;
      } else if ((four & 0xC0E0u) == 0x80C0u && lead >= 0xC2) {
        i += 2;
      } else {
        break;
      }
    }
    if (i >= text.size()) break;
    const Decoded decoded = decode(text, i);
    if (!decoded.valid) return i;
    i += static_cast<std::size_t>(decoded.size);
  }
  return std::nullopt;
}

void append(std::string& text, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacement;
  const auto put = [&text](char32_t byte) { text += static_cast<char>(static_cast<std::uint8_t>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

std::string encode(std::u32string_view code_points) {
  std::string text;
  for (char32_t c : code_points) append(text, c);
  return text;
}

std::u32string code_points(std::string_view text) {
  std::u32string decoded;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode(text, i);
    decoded += next.value;
    i += static_cast<std::size_t>(next.size);
  }
  return decoded;
}

std::size_t count(std::string_view text) noexcept {
  std::size_t total = 0;
  for (std::size_t i = 0; i < text.size(); ++total) i += static_cast<std::size_t>(decode(text, i).size);
  return total;
}

std::string nfc(std::string_view text) {
  const bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return std::string(text);
  if (const auto bad = first_bad_byte(text))
    throw input_error("the text to normalise is not UTF-8 at byte " + std::to_string(*bad))
        .remedy("Convert the text to UTF-8");
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  if (size < 0) throw input_error(std::string("cannot normalise the text: ") + utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size)};
}

std::u32string lower(std::u32string_view text) {
  constexpr char32_t kCapitalSigma = 0x03A3, kFinalSigma = 0x03C2, kDottedI = 0x0130;
  std::u32string lowered;
  lowered.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedI) {
      lowered += U"i\u0307";
    } else if (text[i] == kCapitalSigma && ends_a_word(text, i)) {
      lowered += kFinalSigma;
    } else {
      lowered += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(text[i])));
    }
  }
  return lowered;
}

bool is_space(char32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::vector<std::string_view> graphemes(std::string_view text) {
  std::vector<std::string_view> clusters;
  std::size_t begin = 0;
  char32_t previous = 0;
  utf8proc_int32_t state = 0;
  Conjunct conjunct;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode(text, i);
    if (i > 0) {
      const bool breaks =
          utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                           static_cast<utf8proc_int32_t>(next.value), &state) != 0;
      if (breaks && !conjunct.joins(next.value)) {
        clusters.push_back(text.substr(begin, i - begin));
        begin = i;
      }
    }
    conjunct.pass(next.value);
    previous = next.value;
    i += static_cast<std::size_t>(next.size);
  }
  if (begin < text.size()) clusters.push_back(text.substr(begin));
  return clusters;
}

int cluster_width(std::string_view cluster) noexcept {
  int total = 0;
  for (std::size_t i = 0; i < cluster.size();) {
    const Decoded next = decode(cluster, i);
    i += static_cast<std::size_t>(next.size);
    total += code_point_width(next.value);
    // An emoji sequence (joined emoji, an emoji with a skin tone, a flag, or text with emoji presentation) is
    // drawn as one glyph.
    const bool joins = next.value == 0x200D && total >= 2;
    const bool flag = next.value >= 0x1F1E6 && next.value <= 0x1F1FF;
    const bool skin = next.value >= 0x1F3FB && next.value <= 0x1F3FF;
    if (next.value == 0xFE0F || joins || flag || skin) return 2;
  }
  return total;
}

int width(std::string_view text) {
  int total = 0;
  for (std::string_view cluster : graphemes(text)) total += cluster_width(cluster);
  return total;
}

}  // namespace regard::utf8
