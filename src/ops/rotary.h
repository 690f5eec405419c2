// Rotary positions (Su et al. 2021): each pair of features is turned by an angle that grows with the
// position.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// cos and sin of position · frequency, for every position that may come.
struct RotaryTable {
  Tensor cosine, sine;  // [positions, rotary_dim / 2]
  bool interleaved =
      false;  // pairs (2i, 2i + 1); else (i, i + rotary_dim / 2), as Llama's checkpoints have it
};

// Which features of x are turned: `heads` heads of head_dim from feature `column` on, of each the first
// rotary_dim, which the table's width gives.
struct RotaryHeads {
  std::int64_t column = 0, heads = 1, head_dim = 0;
};

// Turns x [tokens, features] in place, and its gradient back on the way back; so x's own node must not need
// x's value (a linear layer without activation does not). positions [tokens] stay until the backward pass.
void rotary(Tape& tape, Var x, const RotaryHeads& which, const RotaryTable& table,
            std::span<const std::int32_t> positions);

}  // namespace regard::ops
