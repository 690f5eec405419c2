// The word vectors built into the program: 32 numbers for each of about 5,000 English words, each vector of
// length 1. recipes/explain-vectors made them and describes their texts and licences.
#pragma once

#include <string_view>

#include "vectors/word_vectors.h"

namespace regard::vectors {

extern const std::string_view kShippedVectors;  // recipes/explain-vectors/vectors.txt

// Decoded at the first call; safe to call from several threads. Words are in lower case, by decreasing
// frequency.
const WordVectors& shipped_vectors();

}  // namespace regard::vectors
