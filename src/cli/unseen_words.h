// Names the words of the input that the model never saw in training.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "infer/training_words.h"

namespace regard::cli {

class UnseenWords {
 public:
  // `model`: a run folder or one of its checkpoints. Any other folder: every word counts as seen. `quiet`:
  // print nothing.
  UnseenWords(const std::string& model, bool quiet);

  // Return the words of `text` that occur in no training sentence. Prints those that were not printed before
  // to stderr, with a hint the first time, at most 20 words in all.
  std::vector<std::string> of(const std::string& text);

 private:
  std::optional<infer::TrainingWords> words_;
  bool quiet_;
  std::unordered_set<std::string> printed_;
};

}  // namespace regard::cli
