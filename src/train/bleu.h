// BLEU (Papineni et al. 2002, https://aclanthology.org/P02-1040) as sacreBLEU computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/metric_text.h"

namespace regard::train {

// What becomes of an order without a match (Chen and Cherry 2014, https://aclanthology.org/W14-3346).
enum class BleuSmoothing {
  none,   // precision 0
  floor,  // `smoothing_value` matches (0.1)
  add_k,  // `smoothing_value` (1) more matches and n-grams in every order above one
  exp,    // a half, a quarter, … of a match
};

struct BleuOptions {
  MetricTokenizer tokenizer = MetricTokenizer::v13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value;
  int max_order = 4;
  bool effective_order = false;  // leave out orders that the text is too short for
};

struct BleuScore {
  double score = 0;                    // 0 to 100
  std::vector<double> counts, totals;  // of each order, with add-k's k
  std::vector<double> precisions;      // percent
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;

  std::string text() const;  // "BLEU = 33.00 66.1/40.5/… (BP = 1.000 ratio = … hyp_len = … ref_len = …)"
};

// references[r][i] is the r-th translation of line i. Throws usage if the counts of lines differ.
BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references, const BleuOptions& options = {});
// Of one sentence; options.effective_order is usually wanted here.
BleuScore sentence_bleu(const std::string& hypothesis, std::span<const std::string> references,
                        const BleuOptions& options = {});

// What a reader needs to compute the same: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…", where
// version is the sacreBLEU whose results these are held to.
std::string bleu_signature(const BleuOptions& options, std::size_t references);

}  // namespace regard::train
