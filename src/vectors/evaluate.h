// Evaluate word vectors against human judgements: word-pair similarity and analogies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "vectors/similar.h"

namespace regard::vectors {

struct EvaluationOptions {
  std::size_t restrict = 300000;  // use only the first `restrict` words of the file; 0 means all words
  // if false, words that differ only in case share the vector of the first one in the file
  bool case_sensitive = false;
  AnalogyMethod method = AnalogyMethod::add;
};

struct PairsResult {
  double spearman = 0, pearson = 0;
  std::int64_t pairs = 0;    // number of pairs that were compared
  std::int64_t unknown = 0;  // number of pairs that were skipped, because a word has no vector
};

// Evaluate a file with two words and a number on each line, separated by tabs or spaces. Lines that begin
// with "#" and a header line are skipped. Throws bad_file with the line of an error.
PairsResult evaluate_pairs(const WordVectors& vectors, const std::filesystem::path& file,
                           const EvaluationOptions& options);

struct AnalogySection {
  std::string name;
  std::int64_t correct = 0, asked = 0;
  std::int64_t unknown = 0;  // number of questions that were skipped, because a word has no vector
};
// Evaluate a file in the format of questions-words.txt: ": NAME" starts a section, and "a b c d" is the
// question a : b = c : d. Throws bad_file with the line of an error.
std::vector<AnalogySection> evaluate_analogies(const WordVectors& vectors, const std::filesystem::path& file,
                                               const EvaluationOptions& options, ThreadPool& pool);

// Return true if the first non-empty line of the file starts a section.
bool holds_analogies(const std::filesystem::path& file);

}  // namespace regard::vectors
