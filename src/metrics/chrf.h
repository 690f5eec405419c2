// chrF (Popović 2015, https://aclanthology.org/W15-3049) and chrF++ (2017) as sacreBLEU computes them: the
// F-score of character n-grams. chrF++ (word_order 2) includes word unigrams and bigrams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/metric_text.h"

namespace regard::metrics {

struct ChrfOptions {
  int character_order = 6;
  int word_order = 0;  // maximum order of word n-grams; 2 gives chrF++
  int beta = 2;        // weight of recall relative to precision
  bool lowercase = false;
  bool whitespace = false;         // count white space as characters too
  bool epsilon_smoothing = false;  // average F over the n-gram orders, instead of precision and recall
};

// Return chrF, 0 to 100. Each line uses the reference with the highest score. Throws usage if the numbers of
// lines differ, there are no references, or both orders are 0.
double corpus_chrf(Lines hypotheses, ReferenceSets references, const ChrfOptions& options = {});
double sentence_chrf(const std::string& hypothesis, Lines references, const ChrfOptions& options = {});

// Return the numbers of n-grams of each order: in a line, in its best-matching reference, and in both.
// chrf_of() computes the score of a text from the sums of its lines' statistics (significance.h).
std::vector<float> chrf_statistics(const std::string& hypothesis, Lines references,
                                   const ChrfOptions& options = {});
double chrf_of(std::span<const double> sums, const ChrfOptions& options = {});

std::string chrf_name(const ChrfOptions& options);  // name of the metric, such as "chrF2++"
std::string chrf_signature(const ChrfOptions& options, std::size_t references);

}  // namespace regard::metrics
