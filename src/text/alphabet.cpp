#include "text/alphabet.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/utf8.h"
#include "regard/error.h"

namespace regard::text {

std::vector<char32_t> alphabet_of(const std::vector<WordCount>& words, const AlphabetLimits& limits) {
  if (!(limits.coverage > 0.0 && limits.coverage <= 1.0))
    throw usage_error("character coverage is out of range")
        .found(fmt::format("{}", limits.coverage))
        .expected("more than 0 and at most 1");
  if (!utf8::valid(limits.always)) throw usage_error("the initial alphabet is not valid UTF-8");
  std::map<char32_t, std::int64_t> counts;
  std::int64_t total = 0;
  for (const WordCount& word : words)
    for (const char32_t c : utf8::code_points(word.word)) {
      counts[c] += word.count;
      total += word.count;
    }
  for (const char32_t c : utf8::code_points(limits.always))
    counts[c] = std::numeric_limits<std::int64_t>::max();
  std::vector<std::pair<char32_t, std::int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (limits.max_characters > 0 && order.size() > limits.max_characters) order.resize(limits.max_characters);
  std::vector<char32_t> alphabet;
  std::int64_t covered = 0;
  for (const auto& [c, count] : order) {
    const bool always = count == std::numeric_limits<std::int64_t>::max();
    if (!always && static_cast<double>(covered) >= limits.coverage * static_cast<double>(total)) break;
    if (!always) covered += count;
    alphabet.push_back(c);
  }
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

std::string text_of(char32_t c) {
  return utf8::encode(std::u32string_view(&c, 1));
}

}  // namespace regard::text
