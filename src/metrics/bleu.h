// BLEU (Papineni et al. 2002, https://aclanthology.org/P02-1040) as sacreBLEU computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/metric_text.h"

namespace regard::metrics {

// Smoothing of n-gram orders (Chen and Cherry 2014, https://aclanthology.org/W14-3346).
enum class BleuSmoothing {
  none,   // precision 0 for an order without a match
  floor,  // an order without a match has `smoothing_value` matches. Default: 0.1
  add_k,  // add `smoothing_value` to matches and n-grams of every order above 1. Default: 1
  exp,    // successive orders without a match have 1/2, 1/4, … matches
};

struct BleuOptions {
  MetricTokenizer tokenizer = MetricTokenizer::v13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;
  int max_order = 4;
  bool effective_order = false;  // ignore orders that the text is too short for
};

struct BleuScore {
  double score = 0;                    // 0 to 100
  std::vector<double> counts, totals;  // matches and n-grams of each order, with add_k included
  std::vector<double> precisions;      // percent
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;

  std::string text() const;  // "BLEU = 33.00 66.1/40.5/… (BP = 1.000 ratio = … hyp_len = … ref_len = …)"
};

// references[r][i] is the r-th reference of line i. Throws usage if the numbers of lines differ, there are no
// references, or max_order < 1.
BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references, const BleuOptions& options = {});
// Return the BLEU of one sentence; usually with options.effective_order.
BleuScore sentence_bleu(const std::string& hypothesis, std::span<const std::string> references,
                        const BleuOptions& options = {});

// Return the statistics of one line: [hypothesis length, reference length, matches of each order…, n-grams
// of each order…]. The score of a text depends on their sums only; see significance.h.
std::vector<float> bleu_statistics(const std::string& hypothesis, std::span<const std::string> references,
                                   const BleuOptions& options = {});
double bleu_of(std::span<const double> sums, const BleuOptions& options = {});

// Return the settings of a score: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…", where version is
// the sacreBLEU version that the tests compare with.
std::string bleu_signature(const BleuOptions& options, std::size_t references);

}  // namespace regard::metrics
