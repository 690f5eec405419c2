// Rows of a table by their ids.
#pragma once

#include <span>

#include "kernels/packed_matrix.h"
#include "ops/tape.h"

namespace regard::ops {

// table [vocabulary, features], ids [tokens] → [tokens, features] = factor · table[id]. The ids stay where
// they are until the backward pass. Throws usage: an id outside the table.
// padding: the row of this id gets no gradient (torch.nn.Embedding's padding_idx); −1: none.
Var embedding(Tape& tape, Var table, std::span<const std::int32_t> ids, float factor = 1.0f,
              std::int32_t padding = -1);

// The same from a table that is held for inference: f32, f16, bf16, or i8 with the scale of each row.
struct HeldTable {
  const Tensor& numbers;  // [vocabulary, features]
  const Tensor& scale;    // [vocabulary] or nothing
  std::int64_t vocabulary = 0;
};
Var held_embedding(Tape& tape, const HeldTable& table, std::span<const std::int32_t> ids,
                   float factor = 1.0f);
// And from one that is packed as an output projection [features, vocabulary].
Var packed_embedding(Tape& tape, const kernels::PackedMatrix& table, std::span<const std::int32_t> ids,
                     float factor = 1.0f);

// x [rows, features] → [indices, features]; the gradient of a row is the sum over the indices that took it.
inline Var select_rows(Tape& tape, Var x, std::span<const std::int32_t> indices) {
  return embedding(tape, x, indices);
}

}  // namespace regard::ops
