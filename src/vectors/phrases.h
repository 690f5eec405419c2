// Words that stand together more often than chance joined into one: "new york" becomes "new_york" (Mikolov et
// al. 2013, section 4; the rule is that of their word2phrase).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vectors/spill.h"

namespace regard::vectors {

struct RawCorpus {
  std::vector<std::string> words;
  std::vector<std::int64_t> counts;          // [words]
  std::shared_ptr<Spill<std::int32_t>> ids;  // words by number, −1 after each sentence
};

struct PhraseOptions {
  std::int64_t min_count = 5;  // δ, and no rarer word is part of a phrase
  double threshold = 100.0;
};

// Joins a and b, from left to right, no word in two phrases, where
//   (count(a b) − δ) / (count(a) count(b)) · tokens > threshold.
// Counts of the result are those of its own words and phrases.
RawCorpus join_phrases(const RawCorpus& corpus, const PhraseOptions& options,
                       const std::filesystem::path& temporary);

}  // namespace regard::vectors
