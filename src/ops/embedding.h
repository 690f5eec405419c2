// Embedding look-up: select rows of a table by id.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "kernels/packed_matrix.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a matrix [tokens, features] whose row i is factor · table[ids[i]]. table: [vocabulary, features];
// ids: [tokens], which must stay valid until the backward pass. No gradient is computed for the row of id
// `padding` (padding_idx of torch.nn.Embedding; −1: none). Throws invalid_input if an id is outside the
// table.
Var embedding(Tape& tape, Var table, std::span<const std::int32_t> ids, float factor = 1.0f,
              std::int32_t padding = -1);

// An embedding table that is used for inference only: f32, f16, bf16, or i8 with one scale per row.
struct HeldTable {
  const Tensor& numbers;  // [vocabulary, features]
  const Tensor& scale;    // [vocabulary], for i8 only
  std::int64_t vocabulary = 0;
};
Var held_embedding(Tape& tape, const HeldTable& table, std::span<const std::int32_t> ids,
                   float factor = 1.0f);
// The same as embedding(), for a table packed as an output projection [features, vocabulary]. It computes no
// gradient.
Var packed_embedding(Tape& tape, const kernels::PackedMatrix& table, std::span<const std::int32_t> ids,
                     float factor = 1.0f);

// Return the rows of x at `indices`. A row's gradient is the sum over the indices that select the row.
inline Var select_rows(Tape& tape, Var x, std::span<const std::int32_t> indices) {
  return embedding(tape, x, indices);
}

}  // namespace regard::ops
