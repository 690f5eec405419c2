#include "metrics/ter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/utf8.h"
#include "metrics/metric_text.h"
#include "metrics/metric_version.h"
#include "metrics/ter_shifts.h"

namespace regard::metrics {
namespace {

struct CharacterRange {
  char32_t first, last;
};

template <std::size_t N>
bool within(char32_t c, const CharacterRange (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const CharacterRange& range) { return c >= range.first && c <= range.last; });
}

constexpr CharacterRange kAsianPunctuation[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F},
                                                {0xFF61, 0xFF65}, {0x30FB, 0x30FB}, {0xFF0E, 0xFF0E},
                                                {0xFF0C, 0xFF0C}, {0xFF1F, 0xFF1F}, {0xFF1A, 0xFF1B},
                                                {0xFF01, 0xFF02}, {0xFF08, 0xFF09}};
// Ideographs, strokes, radicals and compatibility forms. Each character is a separate word.
constexpr CharacterRange kIdeographs[] = {{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x31C0, 0x31EF},
                                          {0x2E80, 0x2EFF}, {0x3300, 0x33FF}, {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE4F}, {0x3200, 0x3F22}};

std::u32string separate_asian(std::u32string_view text) {
  std::u32string result;
  for (const char32_t c : text) {
    if (within(c, kIdeographs) || within(c, kAsianPunctuation)) {
      result += {U' ', c, U' '};
    } else {
      result += c;
    }
  }
  return result;
}

// Apply Tercom's general and Western normalisation.
std::u32string normalized(std::u32string_view text) {
  std::u32string line = replace_all(text, U"\n-", U"");
  line = replace_all(line, U"\n", U" ");
  line = separate_symbols(U" " + without_entities(line) + U" ");
  return separate_stops(replace_all(line, U"'s ", U" 's "));
}

// Return the words of a line, separated by one space.
std::u32string tokenized(std::u32string_view text, const TerOptions& options) {
  std::u32string line(without_trailing_space(text));
  if (!options.case_sensitive) line = utf8::lower(line);
  if (options.normalized && !line.empty()) {
    line = normalized(line);
    if (options.asian_support) line = separate_asian(line);
  }
  if (options.no_punctuation) {
    constexpr std::u32string_view kPunctuation = U".,?:;!\"()";
    std::erase_if(line, [&](char32_t c) {
      return kPunctuation.find(c) != std::u32string_view::npos ||
             (options.asian_support && within(c, kAsianPunctuation));
    });
  }
  return single_spaced(line);
}

std::u32string hypothesis_words(const std::string& text, const TerOptions& options, WordNumbers& numbers) {
  return numbers.line(split_words(tokenized(utf8::code_points(text), options)));
}

// sacreBLEU tokenizes references twice. With `normalized`, the second time can split words that were not
// split the first time.
std::u32string reference_words(const std::string& text, const TerOptions& options, WordNumbers& numbers) {
  return numbers.line(split_words(tokenized(tokenized(utf8::code_points(text), options), options)));
}

const char* yes(bool value) {
  return value ? "yes" : "no";
}

// Add the edits and the reference length of a line to `sums`.
void add_line(TerScore& sums, const std::string& text, Lines references, const TerOptions& options) {
  WordNumbers numbers;
  const std::u32string hypothesis = hypothesis_words(text, options, numbers);
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  double lengths = 0;
  for (const std::string& other : references) {
    const std::u32string reference = reference_words(other, options, numbers);
    fewest = std::min(fewest, edits_with_shifts(hypothesis, reference));
    lengths += static_cast<double>(reference.size());
  }
  sums.edits += fewest;
  sums.reference_length += lengths / static_cast<double>(references.size());
}

}  // namespace

TerScore corpus_ter(Lines hypotheses, ReferenceSets references, const TerOptions& options) {
  check_references(hypotheses.size(), references);
  TerScore sums;
  for (std::size_t i = 0; i < hypotheses.size(); ++i)
    add_line(sums, hypotheses[i], line_of(references, i), options);
  const double totals[] = {static_cast<double>(sums.edits), sums.reference_length};
  sums.score = ter_of(totals);
  return sums;
}

std::vector<float> ter_statistics(const std::string& hypothesis, Lines references,
                                  const TerOptions& options) {
  TerScore line;
  add_line(line, hypothesis, references, options);
  return {static_cast<float>(line.edits), static_cast<float>(line.reference_length)};
}

double ter_of(std::span<const double> sums) {
  const double edits = sums[0], reference_length = sums[1];
  if (reference_length > 0) return 100 * (edits / reference_length);
  return edits > 0 ? 100 : 0;
}

TerScore sentence_ter(const std::string& hypothesis, Lines references, const TerOptions& options) {
  return corpus_ter(std::span(&hypothesis, 1), sets_of(references), options);
}

std::string ter_signature(const TerOptions& options, std::size_t references) {
  return fmt::format("nrefs:{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:{}|{}", references,
                     options.case_sensitive ? "mixed" : "lc", yes(options.normalized),
                     yes(!options.no_punctuation), yes(options.asian_support), kMetricVersion);
}

}  // namespace regard::metrics
