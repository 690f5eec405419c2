// Evaluate word vectors against human judgements: word-pair similarity and analogies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/line_reader.h"
#include "vectors/similar.h"

namespace regard::vectors {

struct EvaluationOptions {
  std::size_t restrict = 300000;  // use only the first `restrict` words of the file; 0 means all words
  // if false, words that differ only in case share the vector of the first one in the file
  bool case_sensitive = false;
  AnalogyMethod method = AnalogyMethod::add;
};

// The lines of a file of pairs or analogies, which are read once; the file may be a pipe.
class EvaluationFile {
 public:
  // "-" is standard input. Throws io if the file cannot be opened.
  EvaluationFile(const std::filesystem::path& file);
  // Return true if the first line starts a section. Call this before next().
  bool holds_analogies() const { return !first_.empty() && first_.front() == ':'; }
  // Read the next line, without empty lines and lines that begin with "#"; return false at the end.
  bool next(std::string& line);
  std::int64_t line_number() const noexcept { return reader_.line_number(); }
  const std::string& name() const noexcept { return reader_.name(); }

 private:
  LineReader reader_;
  std::string first_;  // the first line until next() returns it, then empty
};

struct PairsResult {
  double spearman = 0, pearson = 0;
  std::int64_t pairs = 0;    // number of pairs that were compared
  std::int64_t unknown = 0;  // number of pairs that were skipped, because a word has no vector
};

// Evaluate a file with two words and a number on each line, separated by tabs or spaces. Lines that begin
// with "#" and a header line are skipped. Throws bad_file with the line of an error.
PairsResult evaluate_pairs(const WordVectors& vectors, EvaluationFile&& file,
                           const EvaluationOptions& options);

struct AnalogySection {
  std::string name;
  std::int64_t correct = 0, asked = 0;
  std::int64_t unknown = 0;  // number of questions that were skipped, because a word has no vector
};
// Evaluate a file in the format of questions-words.txt: ": NAME" starts a section, and "a b c d" is the
// question a : b = c : d. Throws bad_file with the line of an error.
std::vector<AnalogySection> evaluate_analogies(const WordVectors& vectors, EvaluationFile&& file,
                                               const EvaluationOptions& options, ThreadPool& pool);

}  // namespace regard::vectors
