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

// Update the value of y and return a variable that shares its memory. x: [tokens, in], whose rows may be
// strided; y: [tokens, features]. No earlier operation may read this value in its backward pass. Products
// without activation, and sums, do not read it.
Var add_low_rank(Tape& tape, Var x, Var y, const LowRankTerm& term);

}  // namespace regard::ops
