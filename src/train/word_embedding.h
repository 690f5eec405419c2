// Initialisation of a model's embedding with word vectors.
#pragma once

#include <string>

#include "models/network.h"
#include "text/tokenizer.h"
#include "train/run_config.h"

namespace regard::train {

// Load config.model.vectors, set the rows of the source embedding to the vectors of their tokens, and return
// a message with the number of vectors found. The rows of special tokens and of tokens without a vector do
// not change. Throws usage if the vectors and the embedding have different sizes or no token has a vector,
// and as WordVectors::load() does.
std::string set_word_embedding(Network& model, const RunConfig& config, const text::Tokenizer& tokenizer,
                               ThreadPool& pool);

// Return the name of the source embedding's parameter. If source and target share one embedding, or the model
// is decoder-only, this is the only embedding. Throws internal if the model has no embedding.
std::string embedding_of_source(Network& model);

}  // namespace regard::train
