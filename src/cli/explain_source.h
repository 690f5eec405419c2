// Input of `regard explain`: tokens and their vectors. Tokens are words and punctuation, or the tokens of a
// tokenizer; vectors are built into the program, loaded from a file, or invented. With --model, the tokens
// are the model's tokens, and the vectors are the input, queries, keys and values of one attention head.
#pragma once

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "regard/explain.h"

namespace regard::cli {

struct ExplainSource {
  std::string text, tokenizer, vectors, model;
  bool invented = false;  // use invented vectors with the four features of small_vectors()
  std::int64_t layer = 0, head = 0;
};

struct Explained {
  ExplainInput input;
  ExplainOptions options;
  bool shipped = false;  // true if the vectors come from vectors::shipped_vectors()
  Tensor model_weights;  // attention weights computed by the model, for comparison; undefined without a model
};

// Maximum number of tokens of a text. The score matrix has the square of this number of elements.
constexpr std::int64_t kMostExplained = 2048;

// Throws invalid_input if the text has no tokens or more than kMostExplained. Throws usage if both `vectors`
// and `invented` are set, or if the model has no such layer or head. Also throws the errors of the functions
// that read the model, tokenizer or vectors.
Explained explained(const ExplainSource& source, const ExplainOptions& options, ThreadPool& pool);

// Return the index of the first token equal to `wanted`. If there is none, ignore case, punctuation at both
// ends and the tokenizer's word-boundary marker ("▁", "Ġ" or "##"). If no token matches, parse `wanted` as an
// index; throws usage if it is not an index.
std::int64_t find_token(const std::string& wanted, const std::vector<std::string>& tokens);

}  // namespace regard::cli
