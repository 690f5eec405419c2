// BLEU (Papineni et al. 2002, https://aclanthology.org/P02-1040) as sacreBLEU computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/metric_text.h"

namespace regard::metrics {

// Smoothing of the n-gram precisions (Chen and Cherry 2014, https://aclanthology.org/W14-3346).
enum class BleuSmoothing {
  none,   // an order without a match has precision 0
  floor,  // count `smoothing_value` matches for an order without a match. Default: 0.1
  add_k,  // add `smoothing_value` to the numbers of matches and n-grams of every order above 1. Default: 1
  exp,    // count 1/2 match for the first order without a match, 1/4 for the next, …
};

struct BleuOptions {
  MetricTokenizer tokenizer = MetricTokenizer::v13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;
  int max_order = 4;
  bool effective_order = false;  // ignore orders of which the hypothesis has no n-gram
};

struct BleuScore {
  double score = 0;  // 0 to 100
  // numbers of matches and of n-grams of each order, after smoothing with add_k
  std::vector<double> counts, totals;
  std::vector<double> precisions;  // precision of each order, in percent
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;

  // a text such as "BLEU = 33.00 66.1/40.5/… (BP = 1.000 ratio = … hyp_len = … ref_len = …)"
  std::string text() const;
};

// Return the BLEU of a text. Throws usage if the numbers of lines differ, there are no references, or
// max_order < 1.
BleuScore corpus_bleu(Lines hypotheses, ReferenceSets references, const BleuOptions& options = {});
// Return the BLEU of one sentence. For single sentences, set options.effective_order.
BleuScore sentence_bleu(const std::string& hypothesis, Lines references, const BleuOptions& options = {});

// Return the statistics of one line: [hypothesis length, reference length, matches of each order…, n-grams of
// each order…]. bleu_of() computes the score of a text from the sums of its lines' statistics
// (significance.h).
std::vector<float> bleu_statistics(const std::string& hypothesis, Lines references,
                                   const BleuOptions& options = {});
double bleu_of(std::span<const double> sums, const BleuOptions& options = {});

// Return the settings of a score, such as "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…". The
// version is the sacreBLEU version with which the tests compare.
std::string bleu_signature(const BleuOptions& options, std::size_t references);

}  // namespace regard::metrics
