// Gated linear unit (Dauphin et al. 2017), the same as torch.nn.functional.glu over the features.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [rows, features] for x [rows, 2 · features]: the first half of each row of x, multiplied element by
// element by the sigmoid of the second half. x must be contiguous. Throws usage if the number of columns of x
// is odd.
Var gated_linear_unit(Tape& tape, Var x);

}  // namespace regard::ops
