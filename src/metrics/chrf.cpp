#include "metrics/chrf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "metrics/metric_text.h"
#include "metrics/metric_version.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

// Number of n-grams of one order in the hypothesis, in the reference and in both.
struct Match {
  std::int64_t hypothesis = 0, reference = 0, both = 0;
};

// Split a line into words. One punctuation mark at the end of a word or, if there is none, at its start is
// split off.
std::vector<std::u32string_view> words_of(std::u32string_view line) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_words(line)) {
    const std::size_t last = word.size() - 1;
    if (last > 0 && is_ascii_punctuation(word.back())) {
      words.push_back(word.substr(0, last));
      words.push_back(word.substr(last));
    } else if (last > 0 && is_ascii_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

// Return the n-gram counts of every order, characters first.
std::vector<NgramCounts> counts_of(const std::string& text, const ChrfOptions& options,
                                   WordNumbers& numbers) {
  std::u32string line = utf8::code_points(text);
  if (options.lowercase) line = utf8::lower(line);
  std::u32string characters;
  for (const char32_t c : line)
    if (options.whitespace || !utf8::is_space(c)) characters += c;
  std::vector<NgramCounts> counts;
  for (int n = 1; n <= options.character_order; ++n) counts.push_back(count_ngrams(characters, n));
  if (options.word_order > 0) {
    const std::u32string words = numbers.line(words_of(line));
    for (int n = 1; n <= options.word_order; ++n) counts.push_back(count_ngrams(words, n));
  }
  return counts;
}

Match match(const NgramCounts& hypothesis, const NgramCounts& reference) {
  Match result;
  for (const auto& [ngram, count] : reference) result.reference += count;
  for (const auto& [ngram, count] : hypothesis) {
    // if the reference has no n-grams of this order, those of the hypothesis are not counted
    if (!reference.empty()) result.hypothesis += count;
    if (const auto found = reference.find(ngram); found != reference.end())
      result.both += std::min(count, found->second);
  }
  return result;
}

// Return F = (1 + β²) P R / (β² P + R), where P and R are means over the orders for which both texts have
// n-grams. With epsilon_smoothing, return the mean of F over all orders.
double f_score(std::span<const Match> orders, const ChrfOptions& options) {
  constexpr double kEpsilon = 1e-16;
  const double factor = static_cast<double>(options.beta) * options.beta;
  double sum = 0, precisions = 0, recalls = 0;
  int effective = 0;
  for (const Match& order : orders) {
    const auto both = static_cast<double>(order.both);
    const double precision = order.hypothesis > 0 ? both / static_cast<double>(order.hypothesis) : kEpsilon;
    const double recall = order.reference > 0 ? both / static_cast<double>(order.reference) : kEpsilon;
    const double weighted = factor * precision + recall;
    sum += weighted > 0 ? (1 + factor) * precision * recall / weighted : kEpsilon;
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precisions += precision;
    recalls += recall;
    ++effective;
  }
  if (options.epsilon_smoothing) return 100 * sum / static_cast<double>(orders.size());
  if (effective == 0 || precisions + recalls == 0) return 0;
  const double precision = precisions / effective, recall = recalls / effective;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

std::size_t orders_of(const ChrfOptions& options) {
  const int orders = options.character_order + options.word_order;
  if (options.character_order < 0 || options.word_order < 0 || orders == 0)
    throw usage_error("chrF requires at least one order of n-grams")
        .found(
            fmt::format("{} orders of characters, {} of words", options.character_order, options.word_order))
        .expected("at least 0 of each, and 1 in all");
  return static_cast<std::size_t>(orders);
}

// Return the matches of a line with the reference for which the score is highest.
std::vector<Match> best_match(const std::string& hypothesis, Lines references, const ChrfOptions& options) {
  WordNumbers numbers;
  const std::vector<NgramCounts> counts = counts_of(hypothesis, options, numbers);
  std::vector<Match> best;
  double best_score = -1;
  for (const std::string& reference : references) {
    const std::vector<NgramCounts> other = counts_of(reference, options, numbers);
    std::vector<Match> orders;
    for (std::size_t n = 0; n < counts.size(); ++n) orders.push_back(match(counts[n], other[n]));
    const double score = f_score(orders, options);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(orders);
  }
  return best;
}

}  // namespace

double corpus_chrf(Lines hypotheses, ReferenceSets references, const ChrfOptions& options) {
  check_references(hypotheses.size(), references);
  std::vector<Match> sums(orders_of(options));
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::vector<Match> best = best_match(hypotheses[i], line_of(references, i), options);
    for (std::size_t n = 0; n < sums.size(); ++n) {
      sums[n].hypothesis += best[n].hypothesis;
      sums[n].reference += best[n].reference;
      sums[n].both += best[n].both;
    }
  }
  return f_score(sums, options);
}

std::vector<float> chrf_statistics(const std::string& hypothesis, Lines references,
                                   const ChrfOptions& options) {
  orders_of(options);
  std::vector<float> statistics;
  for (const Match& order : best_match(hypothesis, references, options))
    for (const std::int64_t count : {order.hypothesis, order.reference, order.both})
      statistics.push_back(static_cast<float>(count));
  return statistics;
}

double chrf_of(std::span<const double> sums, const ChrfOptions& options) {
  std::vector<Match> orders(orders_of(options));
  for (std::size_t n = 0; n < orders.size(); ++n)
    orders[n] = {static_cast<std::int64_t>(sums[3 * n]), static_cast<std::int64_t>(sums[3 * n + 1]),
                 static_cast<std::int64_t>(sums[3 * n + 2])};
  return f_score(orders, options);
}

double sentence_chrf(const std::string& hypothesis, Lines references, const ChrfOptions& options) {
  return corpus_chrf(std::span(&hypothesis, 1), sets_of(references), options);
}

std::string chrf_name(const ChrfOptions& options) {
  return "chrF" + std::to_string(options.beta) +
         std::string(static_cast<std::size_t>(options.word_order), '+');
}

std::string chrf_signature(const ChrfOptions& options, std::size_t references) {
  return fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|{}", references,
                     options.lowercase ? "lc" : "mixed", options.epsilon_smoothing ? "no" : "yes",
                     options.character_order, options.word_order, options.whitespace ? "yes" : "no",
                     kMetricVersion);
}

}  // namespace regard::metrics
