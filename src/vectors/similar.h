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
  add,  // 3CosAdd (Mikolov, Yih and Zweig 2013): cos(d, b̂ + ĉ − â), where ^ normalises a vector to length 1
  // 3CosMul (Levy and Goldberg 2014): cos(d, b) cos(d, c) / (cos(d, a) + ε), where (1 + cos) / 2 replaces
  // each cosine
  multiply,
};
constexpr double kMultiplyEpsilon = 1e-6;

// A search for words that are close to all vectors of `positive` and far from all of `negative`. With one
// positive and no negative vector, AnalogyMethod::add scores a word by its cosine with the positive vector,
// regardless of the vectors' lengths.
struct Question {
  // query vectors, of the same size as the word vectors
  std::vector<std::vector<float>> positive, negative;
  std::vector<std::size_t> excluded;  // indices of words that are never returned
};

// Return the search for the neighbours of a word, or for the missing word of the analogy a : b = c : ?. The
// given words are excluded from the results. Throws usage if a word has no vector; the message names the
// word.
Question neighbours_of(const WordVectors& vectors, const std::string& word);
Question analogy_of(const WordVectors& vectors, const std::string& a, const std::string& b,
                    const std::string& c);

// Return the best `count` of the first `restrict` words (0: of all words) for each question, best first.
// Among words with equal scores, the earlier one in the file is first. The vectors are read once per 256
// questions.
std::vector<std::vector<Neighbour>> search(const WordVectors& vectors, std::span<const Question> questions,
                                           std::size_t count, ThreadPool& pool,
                                           AnalogyMethod method = AnalogyMethod::add,
                                           std::size_t restrict = 0);

// Return x · y / (‖x‖ ‖y‖), computed in double; 0 if either vector is zero.
double cosine(std::span<const float> x, std::span<const float> y);

}  // namespace regard::vectors
