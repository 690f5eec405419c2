// The word vectors that are built into the program: about 5,000 English words, 32 elements per vector, each
// vector of length 1. recipes/explain-vectors describes how they were trained, with the texts and their
// licences.
#pragma once

#include <string_view>

#include "vectors/word_vectors.h"

namespace regard::vectors {

extern const std::string_view kShippedVectors;  // content of recipes/explain-vectors/vectors.txt

// Return the vectors, which are decoded at the first call; safe to call from several threads. Words are in
// lower case and in the order of decreasing frequency.
const WordVectors& shipped_vectors();

}  // namespace regard::vectors
