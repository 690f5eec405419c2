// A low-rank update (LoRA, Hu et al. 2021) in place: y[·, column … column + out) += scale · (x Aᵀ) Bᵀ.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

struct LowRankTerm {
  Var a = nullptr;          // [rank, in]
  Var b = nullptr;          // [out, rank]
  std::int64_t column = 0;  // first column of y to update
  float scale = 1.0f;
};

// Update y [tokens, features] in place, and return a variable that shares the memory of y. x: [tokens, in],
// rows may be strided. Neither the operation that computed y nor an earlier operation on y may read the value
// of y in its backward pass. Sums and linear layers without activation meet this requirement.
Var add_low_rank(Tape& tape, Var x, Var y, const LowRankTerm& term);

}  // namespace regard::ops
