// Initialisation of a model's embedding with word vectors.
#pragma once

#include <string>

#include "models/network.h"
#include "text/tokenizer.h"
#include "train/run_config.h"

namespace regard::train {

// Load config.model.vectors and set rows of the source embedding to the vectors of their tokens. If source
// and target share one embedding, or the model is decoder-only, this is its only embedding. A token is looked
// up unmodified, then in lower case. Special tokens and tokens without a vector keep their rows. Return a
// line with the number of vectors found. Throws usage if the size of the vectors is not the width of the
// embedding or no token has a vector, and as WordVectors::load() does.
std::string set_word_embedding(Network& model, const RunConfig& config, const text::Tokenizer& tokenizer,
                               ThreadPool& pool);

// Return the name of the source embedding's parameter. Throws internal if the model has no embedding.
std::string embedding_of_source(Network& model);

}  // namespace regard::train
