// Where `regard explain` takes its tokens and vectors from: the text's words and the small table, a tokenizer
// file, a file of word vectors, or one head of a model.
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
  Tensor model_weights;  // what the model itself computed, to be compared; undefined without one
};

// Throws usage: no tokens, two sources that exclude each other, a layer or head that is not there; what the
// readers of the files throw.
Explained explained(const ExplainSource& source, const ExplainOptions& options, ThreadPool& pool);

}  // namespace regard::cli
