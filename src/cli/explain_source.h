// Input of `regard explain`. Tokens: the words of the text, or a tokenizer file. Vectors: the built-in table,
// or a file of word vectors. Or both from one attention head of a model.
#pragma once

#include <string>

#include "base/thread_pool.h"
#include "regard/explain.h"

namespace regard::cli {

struct ExplainSource {
  std::string text, tokenizer, vectors, model;
  std::int64_t layer = 0, head = 0;
};

struct Explained {
  ExplainInput input;
  ExplainOptions options;
  Tensor model_weights;  // the model's own weights, for comparison; undefined without a model
};

// Throws usage if there are no tokens, if --model is combined with other sources, or if the layer or head
// does not exist. Also throws the errors of the file readers.
Explained explained(const ExplainSource& source, const ExplainOptions& options, ThreadPool& pool);

}  // namespace regard::cli
