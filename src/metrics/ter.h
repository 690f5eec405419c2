// Translation edit rate (Snover et al. 2006, https://aclanthology.org/2006.amta-papers.25): the minimum
// number of insertions, deletions, replacements and phrase shifts that turn the hypothesis into a reference,
// per reference word. Shifts are found by Tercom's search, as in sacreBLEU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regard::metrics {

struct TerOptions {
  bool normalized = false;      // separate punctuation, replace XML entities
  bool no_punctuation = false;  // remove punctuation
  bool asian_support = false;   // apply both also to Chinese and Japanese
  bool case_sensitive = false;
};

struct TerScore {
  double score = 0;  // percent; 0 is a perfect translation, values above 100 are possible
  std::int64_t edits = 0;
  double reference_length = 0;  // words, averaged over the references of a line
};

// references[r][i] is the r-th reference of line i; for each line, the reference with the fewest edits is
// used. Throws usage if the numbers of lines differ or there are no references.
TerScore corpus_ter(std::span<const std::string> hypotheses,
                    std::span<const std::vector<std::string>> references, const TerOptions& options = {});
TerScore sentence_ter(const std::string& hypothesis, std::span<const std::string> references,
                      const TerOptions& options = {});

// Return the statistics of one line: [edits, reference length]. The score of a text depends on their sums
// only; see significance.h.
std::vector<float> ter_statistics(const std::string& hypothesis, std::span<const std::string> references,
                                  const TerOptions& options = {});
double ter_of(std::span<const double> sums);

std::string ter_signature(const TerOptions& options, std::size_t references);

}  // namespace regard::metrics
