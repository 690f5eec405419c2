// Translation edit rate (Snover et al. 2006, https://aclanthology.org/2006.amta-papers.25). It is the minimum
// number of edits that turn the hypothesis into a reference, divided by the number of reference words. Edits
// are insertions, deletions, replacements and phrase shifts. Shifts are found by Tercom's search, as in
// sacreBLEU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/metric_text.h"

namespace regard::metrics {

struct TerOptions {
  bool normalized = false;      // separate punctuation and replace XML entities
  bool no_punctuation = false;  // remove punctuation
  bool asian_support = false;   // apply `normalized` and `no_punctuation` to Chinese and Japanese too
  bool case_sensitive = false;
};

struct TerScore {
  double score = 0;  // percent; 0 is a perfect translation, values above 100 are possible
  std::int64_t edits = 0;
  // number of words: the mean over the references of each line, summed over lines
  double reference_length = 0;
};

// Return the translation edit rate of a text. Each line uses the reference with the fewest edits. Throws
// usage if the numbers of lines differ or there are no references.
TerScore corpus_ter(Lines hypotheses, ReferenceSets references, const TerOptions& options = {});
TerScore sentence_ter(const std::string& hypothesis, Lines references, const TerOptions& options = {});

// Return the statistics of one line: [edits, reference length]. ter_of() computes the score of a text from
// the sums of its lines' statistics (significance.h).
std::vector<float> ter_statistics(const std::string& hypothesis, Lines references,
                                  const TerOptions& options = {});
double ter_of(std::span<const double> sums);

std::string ter_signature(const TerOptions& options, std::size_t references);

}  // namespace regard::metrics
