// Step-by-step computation of one attention head that keeps every intermediate result, for learning and
// inspection. It uses simple tensor arithmetic (regard/math.h); a test compares it with the fused kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

struct ExplainInput {
  std::vector<std::string> tokens = {};  // [length]
  Tensor vectors = {};                   // [length, size]
  std::string source = {};               // text that says where the vectors come from
  // Projections [size, head_dim]. Default: undefined; random matrices are then used, with head_dim and seed
  // of ExplainOptions.
  Tensor w_q = {}, w_k = {}, w_v = {};
  // Queries, keys and values [length, head_dim] of one head of a model, with position encodings already
  // applied. Default: undefined; they are then computed from the vectors.
  Tensor q = {}, k = {}, v = {};
  std::string head = {};  // name of the head to which q, k and v belong
};

struct ExplainOptions {
  bool positions = true;    // add sinusoidal positions
  bool projections = true;  // compute Q = X W_Q and so on; if false, Q = K = V = X, and scores are not scaled
  bool causal = false;      // causal mask: a token attends only to itself and to earlier tokens
  std::int64_t head_dim = 4;
  float scaling = 0.0f;  // divisor of the scores; default: 0, which means √d_k
  std::uint64_t seed = 1;
};

struct ExplainStep {
  std::string name;                        // name of the step, such as "scores"
  std::string formula;                     // formula of the step, such as "Q Kᵀ"
  std::string note;                        // reason for the step, one sentence; may be empty
  Tensor value;                            // result of the step, a matrix
  std::vector<std::string> rows, columns;  // labels of the rows and columns of `value`; may be empty
};

// Return the steps of the computation. Throws usage if there are no tokens, if the numbers of vectors and
// tokens differ, if a tensor is not an f32 matrix, or if shapes do not match. Also throws usage if only some
// of q, k and v, or only some of w_q, w_k and w_v are given, if head_dim is below 1, or if the scaling is
// negative or not finite.
REGARD_API std::vector<ExplainStep> explain(const ExplainInput& input, const ExplainOptions& options = {});

// Describe the computation for one query in lines of text: the scores, the subtracted maximum, the attention
// weights and the weighted sum of the values. `steps` is the result of explain(); `query` is a token index
// from 0. Throws usage if the index is out of range, or if steps are missing or have mismatched shapes.
REGARD_API std::vector<std::string> follow_query(const std::vector<ExplainStep>& steps, std::int64_t query);

// Return example vectors [words, 4] with four invented features (finance, growth, water, place). A word that
// is not in the built-in table gets a random vector, generated from its lower-case spelling. Such words are
// appended to `invented` unless it is null.
REGARD_API Tensor small_vectors(const std::vector<std::string>& words,
                                std::vector<std::string>* invented = nullptr);

}  // namespace regard
