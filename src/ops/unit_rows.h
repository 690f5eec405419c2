// L2 normalisation of rows without a minimum norm, for embeddings that are compared by cosine similarity.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return x / |x| for each row of x [rows, features] (contiguous), where |x| is the Euclidean norm. A row of
// zeros gives NaN, as x / x.norm(dim=-1) does in PyTorch.
Var unit_rows(Tape& tape, Var x);

}  // namespace regard::ops
