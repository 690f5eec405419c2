// Joins words that co-occur more often than by chance: "new york" becomes "new_york" (Mikolov et al. 2013,
// section 4, with the rule of word2phrase).
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
  std::shared_ptr<Spill<std::int32_t>> ids;  // word ids, with −1 after each sentence
};

struct PhraseOptions {
  std::int64_t min_count = 5;  // minimum count of a word in a phrase: δ in the rule below
  double threshold = 100.0;
};

// Join adjacent words a and b, from left to right and without overlap, if
//   (count(a b) − δ) / (count(a) count(b)) · tokens > threshold.
// The result counts each phrase as one word. A phrase that is spelled like a word of the corpus or like
// another phrase gets the same id.
RawCorpus join_phrases(const RawCorpus& corpus, const PhraseOptions& options,
                       const std::filesystem::path& temporary);

}  // namespace regard::vectors
