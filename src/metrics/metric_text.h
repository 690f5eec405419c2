// Text processing shared by the translation metrics: sacreBLEU's tokenizers (Post 2018,
// https://aclanthology.org/W18-6319) and n-gram counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace regard::metrics {

// The lines of a text, or the references of one line.
using Lines = std::span<const std::string>;
// references[r][i] is the r-th reference of line i.
using ReferenceSets = std::span<const std::vector<std::string>>;

enum class MetricTokenizer {
  v13a,       // "13a": mteval-v13a, for languages with spaces between words
  intl,       // "intl": mteval-v14 --international-tokenization, which splits off punctuation of all scripts
  character,  // "char": each code point is a token
  chinese,    // "zh": each Chinese character is a token; other text is tokenized as in 13a
  none,       // "none": the text is already tokenized
};

const char* name_of(MetricTokenizer tokenizer) noexcept;  // return sacreBLEU's name, such as "13a"
// throws usage, listing the known names, for an unknown name
MetricTokenizer metric_tokenizer_named(const std::string& name);

// Tokenize `text`. The tokens are separated by one space.
std::u32string tokenize_for_metric(std::u32string_view text, MetricTokenizer tokenizer);

// The two steps of 13a's Western tokenization, also used by TER's normalisation. separate_symbols() inserts
// spaces around ASCII punctuation and symbols, but not around apostrophe, comma, hyphen and full stop.
// separate_stops() inserts spaces around full stops and commas, except between digits, and around dashes that
// follow a digit.
std::u32string separate_symbols(std::u32string_view text);
std::u32string separate_stops(std::u32string_view text);

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);
// replace the XML entities &quot; &amp; &lt; &gt; with the characters " & < >
std::u32string without_entities(std::u32string_view text);
// split a text into words at white space
std::vector<std::u32string_view> split_words(std::u32string_view text);
// return the words of a text, separated by one space
std::u32string single_spaced(std::u32string_view text);
constexpr bool is_ascii_punctuation(char32_t c) noexcept {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}
std::u32string_view without_trailing_space(std::u32string_view text);

// Number of occurrences of each n-gram. An n-gram is a string of characters or of word ids.
using NgramCounts = std::unordered_map<std::u32string, std::int64_t>;
NgramCounts count_ngrams(std::u32string_view units, int n);

// Assigns an id to each distinct word, so that a line of words can be stored as a string of ids.
class WordNumbers {
 public:
  std::u32string line(std::span<const std::u32string_view> words);

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

// Throw usage if there is no reference set, or if the number of lines of a set is not `hypotheses`.
void check_references(std::size_t hypotheses, ReferenceSets references);
// Return the reference sets of a single line: one set for each of its references.
std::vector<std::vector<std::string>> sets_of(Lines references);
// Return the references of one line: references[r][line] for each r.
std::vector<std::string> line_of(ReferenceSets references, std::size_t line);

}  // namespace regard::metrics
