// Sum of all elements, used to reduce a loss to a scalar.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1]: factor · the sum of all elements of x, computed in order in double precision. x: any
// shape, contiguous.
Var sum(Tape& tape, Var x, float factor = 1.0f);

}  // namespace regard::ops
