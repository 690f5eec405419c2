// Reports words of the input that the model never saw in training.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "infer/training_words.h"

namespace regard::cli {

class UnseenWords {
 public:
  // `model` is a run folder or one of its checkpoints. For any other folder, no word is reported. `quiet`:
  // print nothing.
  UnseenWords(const std::string& model, bool quiet);

  // Return the words of `text` that occur in no training sentence. Words that were not printed before are
  // printed to stderr, at most 20 in all. The first time, a hint is printed too.
  std::vector<std::string> of(const std::string& text);

 private:
  std::optional<infer::TrainingWords> words_;
  bool quiet_;
  std::unordered_set<std::string> printed_;
};

}  // namespace regard::cli
