// Element-wise product of two variables.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a ∘ b. Both must be contiguous and have the same shape, and may be the same variable.
Var multiply(Tape& tape, Var a, Var b);

}  // namespace regard::ops
