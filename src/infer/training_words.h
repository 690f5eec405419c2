// The words of a run's training sources, with their counts. Used to report words of a text that the model
// never saw. The run folder holds them in kTrainingWordsFile, one line "WORD<tab>COUNT" each, sorted by
// bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/word_counts.h"

namespace regard::infer {

constexpr const char* kTrainingWordsFile = "source_words.tsv";

// Return the content of the file for these texts. Words are cut at white space, and between letters or
// digits and other characters, in normalisation form C. Words without a letter or digit are left out. Empty
// if the content would be longer than 64 MiB. Deterministic. `pool` may be null.
std::string training_words_text(const text::LineSource& texts, ThreadPool* pool);

class TrainingWords {
 public:
  // Read the file of a run folder. Returns nullopt if `folder` has none. Throws io, and bad_file with the
  // line that is not a word and a count.
  static std::optional<TrainingWords> open(const std::filesystem::path& folder);

  // The same for a run folder, its best checkpoint or one of its checkpoints.
  static std::optional<TrainingWords> of_model(const std::filesystem::path& model);

  // The words of `text` that occur in no training source, upper and lower case being the same; each once, in
  // the order of the text, spelled as there. `text` is UTF-8.
  std::vector<std::string> unseen(std::string_view text) const;
  // Their places in `text`, every occurrence: [first byte, end), in order.
  std::vector<std::pair<std::size_t, std::size_t>> unseen_places(std::string_view text) const;

 private:
  std::unordered_set<std::string> words_;  // in lower case
};

}  // namespace regard::infer
