// What the translation metrics share: sacreBLEU's tokenizers (Post 2018, https://aclanthology.org/W18-6319)
// and counts of n-grams.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace regard::train {

enum class MetricTokenizer {
  v13a,       // "13a": mteval-v13a, for languages that put spaces between words
  intl,       // mteval-v14 --international-tokenization: punctuation and symbols of all scripts
  character,  // "char": each code point
  chinese,    // "zh": Chinese characters one by one, the rest as 13a
  none,       // the text is tokenized already
};

const char* name_of(MetricTokenizer tokenizer) noexcept;          // sacreBLEU's: "13a"
MetricTokenizer metric_tokenizer_named(const std::string& name);  // throws usage with the names there are

// The tokens, one space between two.
std::u32string tokenize_for_metric(std::u32string_view text, MetricTokenizer tokenizer);

// The Western part of 13a, which TER's normalisation shares, in its two steps: spaces around ASCII
// punctuation and symbols other than ' , - . and then around full stops and commas, but not between digits,
// and around a dash after a digit.
std::u32string separate_symbols(std::u32string_view text);
std::u32string separate_stops(std::u32string_view text);

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);
std::u32string without_entities(std::u32string_view text);  // &quot; &amp; &lt; &gt; as characters
std::vector<std::u32string_view> split_words(std::u32string_view text);  // at white space
std::u32string_view without_trailing_space(std::u32string_view text);

// How often each run of n neighbouring units occurs.
using NgramCounts = std::unordered_map<std::u32string, std::int64_t>;
NgramCounts count_ngrams(std::u32string_view units, int n);

// Gives each word a number of its own, so that a line of words is a string of units.
class WordNumbers {
 public:
  std::u32string line(std::span<const std::u32string_view> words);

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

// Throws usage unless every reference set has as many lines as there are hypotheses, and there is one.
void check_references(std::size_t hypotheses, std::span<const std::vector<std::string>> references);

}  // namespace regard::train
