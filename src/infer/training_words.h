// The words of a run's training sources, with their counts: which words of a text did the model never see?
// The run folder keeps them in kTrainingWordsFile, one line "WORD<tab>COUNT" each, sorted by bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/word_counts.h"

namespace regard::infer {

constexpr const char* kTrainingWordsFile = "source_words.tsv";

// Content of the file for these texts. Words are cut at white space and between letters or digits and other
// signs, in normalisation form C; words without a letter or digit are left out. Empty if it would be longer
// than 64 MiB. Deterministic. `pool` may be null.
std::string training_words_text(const text::LineSource& texts, ThreadPool* pool);

class TrainingWords {
 public:
  // Read the file of a run folder. std::nullopt if `folder` has none. Throws bad_file naming the line that is
  // not a word and a count, io.
  static std::optional<TrainingWords> open(const std::filesystem::path& folder);

  // The words of `text` that occur in no training source, upper and lower case being the same; each once, in
  // the order of the text, spelled as there. `text` is UTF-8.
  std::vector<std::string> unseen(std::string_view text) const;

 private:
  std::unordered_set<std::string> words_;  // in lower case
};

}  // namespace regard::infer
