// How good vectors are at what people know: similarities of word pairs, and analogies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "vectors/similar.h"

namespace regard::vectors {

struct EvaluationOptions {
  std::size_t restrict = 300000;  // only this many words of the file's beginning; 0: all
  bool case_sensitive = false;    // false: of words that differ in case only, the file's first stands for all
  AnalogyMethod method = AnalogyMethod::add;
};

// Rank correlation (Spearman 1904): Pearson's of the ranks, equal values sharing the mean of theirs. NaN for
// fewer than two values or where one side is constant.
double spearman(std::span<const double> x, std::span<const double> y);
double pearson(std::span<const double> x, std::span<const double> y);

struct PairsResult {
  double spearman = 0, pearson = 0;
  std::int64_t pairs = 0;    // that were compared
  std::int64_t unknown = 0;  // left out since a word has no vector
};

// A file with two words and a number a line, tabs or blanks between them; lines that begin with "#" and a
// first line without a number are passed over. Throws bad_file with the line.
PairsResult evaluate_pairs(const WordVectors& vectors, const std::filesystem::path& file,
                           const EvaluationOptions& options);

struct AnalogySection {
  std::string name;
  std::int64_t correct = 0, asked = 0;
  std::int64_t unknown = 0;  // questions left out since a word has no vector
};
// A file in the form of questions-words.txt: ": NAME" opens a section, "a b c d" asks whether d is found.
// Throws bad_file with the line.
std::vector<AnalogySection> evaluate_analogies(const WordVectors& vectors, const std::filesystem::path& file,
                                               const EvaluationOptions& options, ThreadPool& pool);

// Whether the file's first line that says anything opens a section.
bool holds_analogies(const std::filesystem::path& file);

}  // namespace regard::vectors
