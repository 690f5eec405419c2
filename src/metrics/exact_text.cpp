#include "metrics/exact_text.h"

#include <algorithm>

#include "regard/error.h"

namespace regard::metrics {
namespace {

// Remove the first word from `text` and return it, or return "" if there is none.
std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

}  // namespace

bool same_words(std::string_view a, std::string_view b) {
  while (true) {
    const std::string_view left = take_word(a), right = take_word(b);
    if (left != right) return false;
    if (left.empty()) return true;
  }
}

double exact_match(std::span<const std::string> texts, std::span<const std::string> references) {
  if (texts.empty() || texts.size() != references.size())
    throw usage_error("the numbers of texts and references differ or are zero")
        .found(std::to_string(texts.size()) + " texts, " + std::to_string(references.size()) + " references")
        .expected("equal numbers, at least 1");
  std::size_t equal = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) equal += same_words(texts[i], references[i]) ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(texts.size());
}

}  // namespace regard::metrics
