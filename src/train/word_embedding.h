// Word vectors as the beginning of a model's embedding.
#pragma once

#include <string>

#include "models/network.h"
#include "text/tokenizer.h"
#include "train/run_config.h"

namespace regard::train {

// Sets the rows of the embedding of what is read (of the one table where source and target share it) to the
// vectors of their tokens, found as they are spelt or else in lower case; the other rows stay. Returns a line
// that says how many were found. Throws usage: the vectors' size is not the model's hidden size, or no token
// has one; and what WordVectors::load() throws.
std::string set_word_embedding(Network& model, const RunConfig& config, const text::Tokenizer& tokenizer,
                               ThreadPool& pool);

// The name of that table among the model's parameters.
std::string embedding_of_source(Network& model);

}  // namespace regard::train
