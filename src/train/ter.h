// Translation edit rate (Snover et al. 2006, https://aclanthology.org/2006.amta-papers.25): the fewest
// insertions, deletions, replacements and shifts of phrases that make the hypothesis a reference, per word of
// the reference. The search for shifts is Tercom's, as sacreBLEU has it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regard::train {

struct TerOptions {
  bool normalized = false;      // separate punctuation, read XML entities
  bool no_punctuation = false;  // leave punctuation out
  bool asian_support = false;   // both of these also for Chinese and Japanese
  bool case_sensitive = false;
};

struct TerScore {
  double score = 0;  // percent; 0 is a perfect translation, more than 100 is possible
  std::int64_t edits = 0;
  double reference_length = 0;  // words, averaged over the references of a line
};

// references[r][i] is the r-th translation of line i; per line the reference with the fewest edits counts.
TerScore corpus_ter(std::span<const std::string> hypotheses,
                    std::span<const std::vector<std::string>> references, const TerOptions& options = {});
TerScore sentence_ter(const std::string& hypothesis, std::span<const std::string> references,
                      const TerOptions& options = {});

std::string ter_signature(const TerOptions& options, std::size_t references);

}  // namespace regard::train
