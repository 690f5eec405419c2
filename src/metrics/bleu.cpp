#include "metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "metrics/metric_version.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

// Counts summed over sentences, from which the score is computed.
struct Statistics {
  explicit Statistics(int orders) : counts(static_cast<std::size_t>(orders)), totals(counts) {}
  std::vector<std::int64_t> counts, totals;  // number of matched n-grams and of all n-grams, by order
  std::int64_t hypothesis_length = 0, reference_length = 0;
};

std::u32string prepared(const std::string& text, const BleuOptions& options, WordNumbers& numbers) {
  std::u32string line = utf8::code_points(text);
  if (options.lowercase) line = utf8::lower(line);
  line = tokenize_for_metric(without_trailing_space(line), options.tokenizer);
  return numbers.line(split_words(line));
}

// Return the reference length closest to the hypothesis length; if two lengths are equally close, the shorter
// one.
std::int64_t closest_length(std::int64_t length, std::span<const std::u32string> references) {
  std::int64_t best = static_cast<std::int64_t>(references[0].size());
  for (const std::u32string& reference : references) {
    const auto other = static_cast<std::int64_t>(reference.size());
    const std::int64_t difference = std::abs(other - length), least = std::abs(best - length);
    if (difference < least || (difference == least && other < best)) best = other;
  }
  return best;
}

void add_sentence(Statistics& sums, const std::u32string& hypothesis,
                  std::span<const std::u32string> references) {
  const auto length = static_cast<std::int64_t>(hypothesis.size());
  sums.hypothesis_length += length;
  sums.reference_length += closest_length(length, references);
  for (std::size_t n = 0; n < sums.counts.size(); ++n) {
    const int order = static_cast<int>(n) + 1;
    // maximum count of each n-gram over the references; at most this number of matches is counted
    NgramCounts most;
    for (const std::u32string& reference : references)
      for (const auto& [ngram, count] : count_ngrams(reference, order))
        most[ngram] = std::max(most[ngram], count);
    for (const auto& [ngram, count] : count_ngrams(hypothesis, order)) {
      sums.totals[n] += count;
      if (const auto found = most.find(ngram); found != most.end())
        sums.counts[n] += std::min(count, found->second);
    }
  }
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

// Compute score = BP · exp(mean of log precisions). The brevity penalty BP is exp(1 − reference length /
// hypothesis length) if the hypothesis is shorter than the reference, otherwise 1.
BleuScore score_of(const Statistics& sums, const BleuOptions& options) {
  const std::size_t orders = sums.counts.size();
  BleuScore result;
  result.counts.assign(sums.counts.begin(), sums.counts.end());
  result.totals.assign(sums.totals.begin(), sums.totals.end());
  result.precisions.assign(orders, 0.0);
  result.hypothesis_length = sums.hypothesis_length;
  result.reference_length = sums.reference_length;
  const auto hypothesis = static_cast<double>(sums.hypothesis_length);
  const auto reference = static_cast<double>(sums.reference_length);
  if (hypothesis < reference)
    result.brevity_penalty = hypothesis > 0 ? std::exp(1 - reference / hypothesis) : 0;
  if (std::all_of(sums.counts.begin(), sums.counts.end(), [](std::int64_t c) { return c == 0; }))
    return result;

  double halves = 1;
  std::size_t effective = orders;
  for (std::size_t n = 0; n < orders; ++n) {
    if (options.smoothing == BleuSmoothing::add_k && n > 0) {
      result.counts[n] += smoothing_value(options);
      result.totals[n] += smoothing_value(options);
    }
    if (result.totals[n] == 0) break;
    if (options.effective_order) effective = n + 1;
    if (result.counts[n] != 0) {
      result.precisions[n] = 100 * result.counts[n] / result.totals[n];
    } else if (options.smoothing == BleuSmoothing::exp) {
      halves *= 2;
      result.precisions[n] = 100 / (halves * result.totals[n]);
    } else if (options.smoothing == BleuSmoothing::floor) {
      result.precisions[n] = 100 * smoothing_value(options) / result.totals[n];
    }
  }
  double logs = 0;
  // log 0 is −∞, so the score is 0
  for (std::size_t n = 0; n < effective; ++n) logs += std::log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logs / static_cast<double>(effective));
  return result;
}

void add_line(Statistics& sums, const std::string& hypothesis, Lines references, const BleuOptions& options) {
  WordNumbers numbers;
  std::vector<std::u32string> lines;
  for (const std::string& reference : references) lines.push_back(prepared(reference, options, numbers));
  add_sentence(sums, prepared(hypothesis, options, numbers), lines);
}

Statistics no_statistics(const BleuOptions& options) {
  if (options.max_order < 1)
    throw usage_error("the largest order of BLEU is out of range")
        .found(std::to_string(options.max_order))
        .expected("at least 1");
  return Statistics(options.max_order);
}

}  // namespace

std::string BleuScore::text() const {
  std::string parts;
  for (const double precision : precisions)
    parts += fmt::format("{}{:.1f}", parts.empty() ? "" : "/", precision);
  const double ratio = reference_length > 0
                           ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length)
                           : 0;
  return fmt::format("BLEU = {:.2f} {} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score, parts,
                     brevity_penalty, ratio, hypothesis_length, reference_length);
}

BleuScore corpus_bleu(Lines hypotheses, ReferenceSets references, const BleuOptions& options) {
  check_references(hypotheses.size(), references);
  Statistics sums = no_statistics(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i)
    add_line(sums, hypotheses[i], line_of(references, i), options);
  return score_of(sums, options);
}

BleuScore sentence_bleu(const std::string& hypothesis, Lines references, const BleuOptions& options) {
  return corpus_bleu(std::span(&hypothesis, 1), sets_of(references), options);
}

std::vector<float> bleu_statistics(const std::string& hypothesis, Lines references,
                                   const BleuOptions& options) {
  Statistics sums = no_statistics(options);
  add_line(sums, hypothesis, references, options);
  std::vector<float> statistics{static_cast<float>(sums.hypothesis_length),
                                static_cast<float>(sums.reference_length)};
  for (const std::vector<std::int64_t>* counts : {&sums.counts, &sums.totals})
    for (const std::int64_t count : *counts) statistics.push_back(static_cast<float>(count));
  return statistics;
}

double bleu_of(std::span<const double> sums, const BleuOptions& options) {
  Statistics statistics = no_statistics(options);
  statistics.hypothesis_length = static_cast<std::int64_t>(sums[0]);
  statistics.reference_length = static_cast<std::int64_t>(sums[1]);
  const std::size_t orders = statistics.counts.size();
  for (std::size_t n = 0; n < orders; ++n) {
    statistics.counts[n] = static_cast<std::int64_t>(sums[2 + n]);
    statistics.totals[n] = static_cast<std::int64_t>(sums[2 + orders + n]);
  }
  return score_of(statistics, options).score;
}

std::string bleu_signature(const BleuOptions& options, std::size_t references) {
  constexpr const char* kSmoothing[] = {"none", "floor", "add-k", "exp"};
  std::string smoothing = kSmoothing[static_cast<std::size_t>(options.smoothing)];
  if (options.smoothing == BleuSmoothing::floor || options.smoothing == BleuSmoothing::add_k)
    smoothing += fmt::format("[{:.2f}]", smoothing_value(options));
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|{}", references,
                     options.lowercase ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     name_of(options.tokenizer), smoothing, kMetricVersion);
}

}  // namespace regard::metrics
