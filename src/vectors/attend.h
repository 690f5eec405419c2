// Attention without parameters over word vectors: softmax(X Xᵀ · scale) X (Vaswani et al. 2017 with Q = K = V
// = X). The result for a word is a weighted mean of the vectors of the sentence, so an ambiguous word gets a
// different vector in each sentence.
#pragma once

#include <string>
#include <vector>

#include "regard/tensor.h"
#include "vectors/similar.h"

namespace regard::vectors {

struct AttendOptions {
  bool unit = true;    // if true, normalise vectors to length 1 first, so that scores are cosines
  float scale = 1.0f;  // factor of the scores before the softmax
  std::size_t neighbours = 5;
  // search for neighbours among the first `restrict` words of the file; 0 means all words
  std::size_t restrict = 0;
};

struct AttendedWord {
  // The word as given, and its spelling in the file. If the vector is composed of n-grams, `found` equals
  // `word`.
  std::string word, found;
  double stayed = 0;  // cosine of the word's vector before attention with its vector after attention
  // Cosine similarities of this word with each word of the text. For this word, `before` takes the vector
  // before attention, and `after` the vector after attention. For the other word, both take the vector before
  // attention.
  std::vector<double> before{}, after{};
  // words of the file that are nearest to the vector before and after attention, without the word itself
  std::vector<Neighbour> neighbours_before{}, neighbours_after{};
};

struct Attended {
  Tensor weights;  // [words, words]; row i: the attention weights of word i
  Tensor vectors;  // [words, size] after attention
  std::vector<AttendedWord> words;
};

// Attend over the words of `text`, which is split at white space. A word that is not in the file is looked up
// in lower case, then composed from n-grams if the file has n-grams. Throws invalid_input if there are no
// words, usage for a word without a vector, and numeric if a result is not finite.
Attended attend(const WordVectors& vectors, const std::string& text, const AttendOptions& options,
                ThreadPool& pool);

}  // namespace regard::vectors
