#include "metrics/word_error_rate.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/utf8.h"
#include "metrics/metric_text.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

// Return the words of `text`, each as a string of code points.
std::vector<std::u32string> words_of(const std::string& text) {
  const std::u32string all = utf8::code_points(text);
  const std::vector<std::u32string_view> words = split_words(all);
  return {words.begin(), words.end()};
}

std::u32string characters_of(const std::string& text) {
  std::u32string all = utf8::code_points(text);
  while (!all.empty() && utf8::is_space(all.back())) all.pop_back();
  const auto begin = std::find_if(all.begin(), all.end(), [](char32_t c) { return !utf8::is_space(c); });
  return {begin, all.end()};
}

// Compute the edit distance. Only one row of the table is stored.
template <class Units>
Errors errors_of(const Units& output, const Units& reference) {
  std::vector<std::int64_t> row(reference.size() + 1);
  std::iota(row.begin(), row.end(), std::int64_t{0});
  for (std::size_t i = 1; i <= output.size(); ++i) {
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i);
    for (std::size_t j = 1; j <= reference.size(); ++j) {
      const std::int64_t replaced = diagonal + (output[i - 1] == reference[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return {row.back(), static_cast<std::int64_t>(reference.size())};
}

template <class Compare>
Errors sum_of(std::span<const std::string> outputs, std::span<const std::string> references,
              const Compare& compare) {
  if (outputs.size() != references.size())
    throw usage_error("the numbers of outputs and references differ")
        .found(std::to_string(outputs.size()) + " outputs")
        .expected(std::to_string(references.size()) + " outputs, one for each reference");
  Errors all;
  for (std::size_t i = 0; i < outputs.size(); ++i) all += compare(outputs[i], references[i]);
  return all;
}

}  // namespace

Errors word_errors(const std::string& output, const std::string& reference) {
  return errors_of(words_of(output), words_of(reference));
}

Errors character_errors(const std::string& output, const std::string& reference) {
  return errors_of(characters_of(output), characters_of(reference));
}

Errors word_errors(std::span<const std::string> outputs, std::span<const std::string> references) {
  return sum_of(outputs, references,
                [](const std::string& a, const std::string& b) { return word_errors(a, b); });
}

Errors character_errors(std::span<const std::string> outputs, std::span<const std::string> references) {
  return sum_of(outputs, references,
                [](const std::string& a, const std::string& b) { return character_errors(a, b); });
}

}  // namespace regard::metrics
