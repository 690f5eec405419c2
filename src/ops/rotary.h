// Rotary position embedding (Su et al. 2021): each pair of features is rotated by an angle proportional to
// the position.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Cosine and sine of position · frequency for every supported position.
struct RotaryTable {
  Tensor cosine, sine;       // [positions, rotary_dim / 2]
  bool interleaved = false;  // true: pairs (2i, 2i + 1); false: (i, i + rotary_dim / 2), as in Llama
};

// The features to rotate: `heads` heads of head_dim features, starting at feature `column`. The first
// rotary_dim features (2 × the table's width) of each head are rotated.
struct RotaryHeads {
  std::int64_t column = 0, heads = 1, head_dim = 0;
};

// Rotate x [tokens, features] in place; the backward pass rotates the gradient of x back in place, so
// `table` and positions [tokens] must stay valid until then. The operation that computed x must not read x's
// value in its backward function (a linear layer without activation does not). Throws invalid_input if a
// position is outside the table.
void rotary(Tape& tape, Var x, const RotaryHeads& which, const RotaryTable& table,
            std::span<const std::int32_t> positions);

}  // namespace regard::ops
