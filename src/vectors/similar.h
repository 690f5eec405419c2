// Nearest neighbours of a word, and analogies (a is to b as c is to d).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

struct Neighbour {
  std::size_t index = 0;
  float score = 0;
};

enum class AnalogyMethod {
  add,  // 3CosAdd (Mikolov, Yih and Zweig 2013): cos(d, b̂ + ĉ − â), each vector of length one first
  multiply,  // 3CosMul (Levy and Goldberg 2014): cos(d, b) cos(d, c) / (cos(d, a) + ε), cosines as (1 + cos)
             // / 2
};
constexpr double kMultiplyEpsilon = 1e-6;

// A search: close to all of `positive`, far from all of `negative`. With one positive vector and no negative
// one the score is the cosine (add), regardless of lengths.
struct Question {
  std::vector<std::vector<float>> positive, negative;  // query vectors, with the size of the word vectors
  std::vector<std::size_t> excluded;                   // words never returned
};

// Build the question for a word's neighbours, or for a : b = c : ?. The given words are excluded from the
// answers. Throws usage naming a word without a vector.
Question neighbours_of(const WordVectors& vectors, const std::string& word);
Question analogy_of(const WordVectors& vectors, const std::string& a, const std::string& b,
                    const std::string& c);

// Return the best `count` words for each question, best first; among equal ones, the word that is earlier in
// the file is first. Only the first `restrict` words are considered; 0 means all. All questions are scored
// in one pass over the vectors.
std::vector<std::vector<Neighbour>> search(const WordVectors& vectors, std::span<const Question> questions,
                                           std::size_t count, ThreadPool& pool,
                                           AnalogyMethod method = AnalogyMethod::add,
                                           std::size_t restrict = 0);

// x · y / (‖x‖ ‖y‖) in double; 0 if either vector is zero.
double cosine(std::span<const float> x, std::span<const float> y);

}  // namespace regard::vectors
