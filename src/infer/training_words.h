// The words of a run's training sources with their counts, used to report words of a text that did not occur
// in training. The run folder contains them in the file kTrainingWordsFile: one line "WORD<tab>COUNT" for
// each word, sorted by bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/word_counts.h"

namespace regard::infer {

constexpr const char* kTrainingWordsFile = "source_words.tsv";

// Return the content of kTrainingWordsFile for these texts; empty if it would be longer than 64 MiB. The
// texts are normalised to NFC. A word is a sequence of letters, marks and digits, or one other character that
// is not white space. `pool` may be null and does not affect the result.
std::string training_words_text(const text::LineSource& texts, ThreadPool* pool);

class TrainingWords {
 public:
  // Read kTrainingWordsFile of a run folder; return nullopt if the folder has no such file. Throws io if the
  // file cannot be read, and bad_file, naming the line, if a line is not "WORD<tab>COUNT".
  static std::optional<TrainingWords> open(const std::filesystem::path& folder);

  // Call open() with the run folder of `model`, which is a run folder or a checkpoint in one.
  static std::optional<TrainingWords> of_model(const std::filesystem::path& model);

  // Return the words and symbols (such as emoji; no punctuation) of the UTF-8 `text` that do not occur in the
  // training sources, ignoring case. Each is returned once, spelled as at its first occurrence, in the order
  // of `text`. Symbols are not returned if the file has none, as in files of older versions.
  std::vector<std::string> unseen(std::string_view text) const;
  // Return the words of `text` that occur in the training sources only with other capitalisation ("THE" for
  // "the"), each with its most frequent spelling there.
  struct Respelled {
    std::string word, trained;
    bool operator==(const Respelled&) const = default;
  };
  std::vector<Respelled> in_other_case(std::string_view text) const;
  // Return the byte range [begin, end) of every occurrence of an unseen word or symbol in `text`, in order.
  std::vector<std::pair<std::size_t, std::size_t>> unseen_places(std::string_view text) const;

 private:
  struct Spelling {
    std::string word;
    std::int64_t count = 0;
  };
  // words of the text, in order, without duplicates
  std::vector<std::string> words_of(std::string_view text) const;

  // for each word in lower case, its most frequent spelling
  std::unordered_map<std::string, Spelling> words_;
  std::unordered_set<std::string> spellings_;  // all words, spelled as in the file
  bool has_signs_ = false;
};

}  // namespace regard::infer
