// Gated linear unit (Dauphin et al. 2017), the same as torch.nn.functional.glu over the features.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a ∘ σ(b) [rows, features], where a is the first half and b the second half of each row of x [rows, 2
// · features]. x must be contiguous. Throws usage if the number of columns of x is odd.
Var gated_linear_unit(Tape& tape, Var x);

}  // namespace regard::ops
