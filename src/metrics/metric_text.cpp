#include "metrics/metric_text.h"

#include <utf8proc.h>

#include <array>

#include "base/names.h"
#include "base/utf8.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

constexpr const char* kNames[] = {"13a", "intl", "char", "zh", "none"};

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}
bool is_stop(char32_t c) {
  return c == '.' || c == ',';
}
// Return true for an ASCII space or punctuation character other than ' , - and .
bool is_separate(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Return the first letter of the character's Unicode general category: 'N', 'P', 'S', …
char major_category(char32_t c) {
  return *utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
}
bool is_number(char32_t c) {
  return major_category(c) == 'N';
}
bool is_punctuation(char32_t c) {
  return major_category(c) == 'P';
}

// Insert a space after (after_each) or before (before_each) each of two adjacent characters that satisfy
// is_first and is_second. Pairs are found from left to right without overlap, as in re.sub().
enum class Spaces { after_each, before_each };
template <class First, class Second>
std::u32string space_pairs(std::u32string_view text, First is_first, Second is_second, Spaces spaces) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !is_first(text[i]) || !is_second(text[i + 1])) {
      result += text[i];
      continue;
    }
    for (int k = 0; k < 2; ++k) {
      if (spaces == Spaces::before_each) result += U' ';
      result += text[i + static_cast<std::size_t>(k)];
      if (spaces == Spaces::after_each) result += U' ';
    }
    ++i;
  }
  return result;
}

template <class Condition>
std::u32string space_around(std::u32string_view text, Condition condition) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (condition(c)) {
      result += {U' ', c, U' '};
    } else {
      result += c;
    }
  }
  return result;
}

struct Range {
  char32_t first, last;
};
// The characters that sacreBLEU's zh tokenizer separates. In two ranges of its source, \u is followed by five
// hexadecimal digits, of which Python reads only four. This table has the ranges as Python reads them:
//   U+2001 to U+2A6D instead of U+20000 to U+2A6D6,
//   U+2F81 to U+2FA1 (within U+2F00 to U+2FDF) instead of U+2F800 to U+2FA1D.
constexpr std::array<Range, 20> kChinese = {{
    {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3000, 0x303F},
    {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x32FF}, {0x3300, 0x33FF},
    {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
    {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}, {0x2600, 0x27BF},
}};
bool is_chinese(char32_t c) {
  for (const Range& range : kChinese)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

std::u32string tokenize_13a(std::u32string_view text) {
  std::u32string line = replace_all(text, U"<skipped>", U"");
  line = replace_all(line, U"-\n", U"");
  line = replace_all(line, U"\n", U" ");
  line = without_entities(line);
  return single_spaced(separate_stops(separate_symbols(U" " + line + U" ")));
}

std::u32string tokenize_intl(std::u32string_view text) {
  const auto other = [](char32_t c) { return !is_number(c); };
  std::u32string line = space_pairs(text, other, is_punctuation, Spaces::after_each);
  line = space_pairs(line, is_punctuation, other, Spaces::before_each);
  return single_spaced(space_around(line, [](char32_t c) { return major_category(c) == 'S'; }));
}

std::u32string tokenize_characters(std::u32string_view text) {
  std::u32string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0) line += U' ';
    line += text[i];
  }
  return line;
}

std::u32string tokenize_chinese(std::u32string_view text) {
  text = without_trailing_space(text);
  while (!text.empty() && utf8::is_space(text.front())) text.remove_prefix(1);
  return single_spaced(separate_stops(separate_symbols(space_around(text, is_chinese))));
}

}  // namespace

const char* name_of(MetricTokenizer tokenizer) noexcept {
  return kNames[static_cast<std::size_t>(tokenizer)];
}

MetricTokenizer metric_tokenizer_named(const std::string& name) {
  if (const auto known = enumerator_named<MetricTokenizer>(kNames, name)) return *known;
  throw usage_error("no tokenizer for metrics has the name \"" + name + "\"")
      .expected("13a, intl, char, zh or none");
}

std::u32string tokenize_for_metric(std::u32string_view text, MetricTokenizer tokenizer) {
  switch (tokenizer) {
    case MetricTokenizer::v13a:
      return tokenize_13a(text);
    case MetricTokenizer::intl:
      return tokenize_intl(text);
    case MetricTokenizer::character:
      return tokenize_characters(text);
    case MetricTokenizer::chinese:
      return tokenize_chinese(text);
    case MetricTokenizer::none:
      break;
  }
  return std::u32string(text);
}

std::u32string separate_symbols(std::u32string_view text) {
  return space_around(text, is_separate);
}

std::u32string separate_stops(std::u32string_view text) {
  const auto no_digit = [](char32_t c) { return !is_digit(c); };
  std::u32string line = space_pairs(text, no_digit, is_stop, Spaces::after_each);
  line = space_pairs(line, is_stop, no_digit, Spaces::before_each);
  return space_pairs(
      line, is_digit, [](char32_t c) { return c == '-'; }, Spaces::after_each);
}

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string result;
  while (true) {
    const std::size_t found = text.find(from);
    result += text.substr(0, found);
    if (found == std::u32string_view::npos) return result;
    result += to;
    text.remove_prefix(found + from.size());
  }
}

std::u32string without_entities(std::u32string_view text) {
  std::u32string line = replace_all(text, U"&quot;", U"\"");
  line = replace_all(line, U"&amp;", U"&");
  line = replace_all(line, U"&lt;", U"<");
  return replace_all(line, U"&gt;", U">");
}

std::vector<std::u32string_view> split_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && !utf8::is_space(text[end])) ++end;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

std::u32string single_spaced(std::u32string_view text) {
  std::u32string result;
  for (const std::u32string_view word : split_words(text)) {
    if (!result.empty()) result += U' ';
    result += word;
  }
  return result;
}

std::u32string_view without_trailing_space(std::u32string_view text) {
  while (!text.empty() && utf8::is_space(text.back())) text.remove_suffix(1);
  return text;
}

NgramCounts count_ngrams(std::u32string_view units, int n) {
  NgramCounts counts;
  const auto length = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i + length <= units.size(); ++i) ++counts[std::u32string(units.substr(i, length))];
  return counts;
}

std::u32string WordNumbers::line(std::span<const std::u32string_view> words) {
  std::u32string numbers;
  for (const std::u32string_view word : words)
    numbers +=
        numbers_.try_emplace(std::u32string(word), static_cast<char32_t>(numbers_.size())).first->second;
  return numbers;
}

void check_references(std::size_t hypotheses, ReferenceSets references) {
  if (references.empty()) throw usage_error("expected at least one set of references, found none");
  for (const auto& set : references)
    if (set.size() != hypotheses)
      throw usage_error("the numbers of hypotheses and references differ")
          .found(std::to_string(set.size()) + " references")
          .expected(std::to_string(hypotheses) + " references, one for each hypothesis");
}

std::vector<std::vector<std::string>> sets_of(Lines references) {
  std::vector<std::vector<std::string>> sets;
  for (const std::string& reference : references) sets.push_back({reference});
  return sets;
}

std::vector<std::string> line_of(ReferenceSets references, std::size_t line) {
  std::vector<std::string> texts;
  for (const auto& set : references) texts.push_back(set[line]);
  return texts;
}

}  // namespace regard::metrics
