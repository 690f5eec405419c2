// Rows scaled to length 1, as embeddings that are compared by the cosine.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x [rows, features], contiguous → x / |x| per row, with the Euclidean norm. As in PyTorch's x /
// x.norm(dim=-1), a row of zeros gives NaN.
Var unit_rows(Tape& tape, Var x);

}  // namespace regard::ops
