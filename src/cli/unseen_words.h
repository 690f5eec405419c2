// Reports words of the input that did not occur in the training data, or occurred there only with other
// capitalisation.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "infer/training_words.h"
#include "text/tokenizer.h"

namespace regard::cli {

class UnseenWords {
 public:
  // `model` is a run folder or one of its checkpoints; for any other folder, no word is reported.
  // `tokenizer`, the tokenizer of the model's source texts, must outlive this object.
  UnseenWords(const std::string& model, const text::Tokenizer& tokenizer, bool quiet);

  struct Report {
    std::vector<std::string> unseen;      // words that occur in no training sentence
    std::vector<std::string> other_case;  // words that occur only with other capitalisation
  };
  // Return both lists for `text`. Words not printed before are printed to stderr, at most 20 over all calls.
  // A hint is printed once for each list.
  Report of(const std::string& text);

 private:
  void print(const char* what, const std::vector<std::string>& words, const char* hint);

  std::optional<infer::TrainingWords> words_;
  const text::Tokenizer& tokenizer_;
  bool quiet_;                               // if true, print nothing
  std::unordered_set<std::string> printed_;  // words printed so far
  std::unordered_set<std::string> hints_;    // hints printed so far
};

}  // namespace regard::cli
