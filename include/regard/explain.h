// The first-principles path through one head of attention, step by step, every intermediate kept: for people
// who want to see the numbers. Computed from simple tensor arithmetic (regard/math.h), and held to the fused
// kernel by a test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regard/tensor.h"

namespace regard {

struct ExplainInput {
  std::vector<std::string> tokens = {};  // [length]
  Tensor vectors = {};                   // [length, size]
  std::string source = {};               // where the vectors come from, in words
  // Projections [size, head_dim]; undefined: random ones of ExplainOptions::head_dim, by seed.
  Tensor w_q = {}, w_k = {}, w_v = {};
  // One head's queries, keys and values as a model has them, [length, head_dim]; undefined: made from the
  // vectors. `head` says whose they are. The positions are in them already.
  Tensor q = {}, k = {}, v = {};
  std::string head = {};
};

struct ExplainOptions {
  bool positions = true;    // add sinusoidal positions
  bool projections = true;  // Q = X W_Q …; false: Q = K = V = X, nothing learned, and no scaling
  bool causal = false;      // a token sees itself and those before it
  std::int64_t head_dim = 4;
  float scaling = 0.0f;  // what scores are divided by; 0: √d_k
  std::uint64_t seed = 1;
};

struct ExplainStep {
  std::string name;                        // "scores"
  std::string formula;                     // "Q Kᵀ"
  std::string note;                        // why, in a sentence; may be empty
  Tensor value;                            // a matrix
  std::vector<std::string> rows, columns;  // names of its rows and columns; may be empty
};

// Throws usage: no tokens, another number of vectors than of tokens, tensors that are not f32 matrices, only
// some of q, k and v or of the projections, shapes that do not fit together, a head_dim below 1, a scaling
// that is negative or not finite.
std::vector<ExplainStep> explain(const ExplainInput& input, const ExplainOptions& options = {});

// One query from start to end, in words and numbers, a line each: its scores, what is subtracted, its
// weights, and the weighted sum. `steps` are those of explain(). Throws usage if there is no such token, or
// steps are missing or do not fit together.
std::vector<std::string> follow_query(const std::vector<ExplainStep>& steps, std::int64_t query);

// The vectors that stand in when nothing else is given: four invented features (finance, growth, water,
// place). Words that are not in the small table get a vector made from their letters, and are reported in
// `invented`.
Tensor small_vectors(const std::vector<std::string>& words, std::vector<std::string>* invented = nullptr);

}  // namespace regard
