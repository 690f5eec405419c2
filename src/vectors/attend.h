// Attention without parameters over word vectors: softmax(X Xᵀ · scale) X (Vaswani et al. 2017 with
// Q = K = V = X). Each word becomes a mixture of its company, so a word of two meanings moves towards the one
// its company has.
#pragma once

#include <string>
#include <vector>

#include "regard/tensor.h"
#include "vectors/similar.h"

namespace regard::vectors {

struct AttendOptions {
  bool unit = true;    // vectors of length one first, so scores are cosines
  float scale = 1.0f;  // of the scores before the softmax
  std::size_t neighbours = 5;
  std::size_t restrict = 0;  // neighbours among this many words of the file's beginning; 0: all
};

struct AttendedWord {
  std::string word, found;  // as given; as it stands in the file
  double stayed = 0;        // cosine of its vector before and after
  // Cosines of its vector, before attention and after, with each word of the text as it was before.
  std::vector<double> before{}, after{};
  std::vector<Neighbour> neighbours_before{}, neighbours_after{};  // in the file, the word itself left out
};

struct Attended {
  Tensor weights;  // [words, words]; row i: how much word i takes of each
  Tensor vectors;  // [words, size] after attention
  std::vector<AttendedWord> words;
};

// The words of `text` between blanks. A word that is not in the file is tried in lower case, then through
// n-grams where the file has them. Throws usage: no words, a word without a vector.
Attended attend(const WordVectors& vectors, const std::string& text, const AttendOptions& options,
                ThreadPool& pool);

}  // namespace regard::vectors
