// Reports words of the input that the model never saw in training, or saw only in other cases.
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
  // `model` is a run folder or one of its checkpoints. For any other folder, no word is reported. `tokenizer`
  // is that of its source texts; it must outlive this object. `quiet`: print nothing.
  UnseenWords(const std::string& model, const text::Tokenizer& tokenizer, bool quiet);

  struct Report {
    std::vector<std::string> unseen;      // occur in no training sentence
    std::vector<std::string> other_case;  // occur in other cases only, which give other tokens
  };
  // Report the words of `text`. Words that were not printed before are printed to stderr, at most 20 in all.
  // The first time, a hint is printed too.
  Report of(const std::string& text);

 private:
  void print(const char* what, const std::vector<std::string>& words, const char* hint);

  std::optional<infer::TrainingWords> words_;
  const text::Tokenizer& tokenizer_;
  bool quiet_;
  std::unordered_set<std::string> printed_;  // words
  std::unordered_set<std::string> hints_;    // printed hints
};

}  // namespace regard::cli
