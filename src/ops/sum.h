// factor · Σ x over all elements, to reduce a loss to a scalar.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x of any shape, contiguous → scalar [1], summed in order in double precision.
Var sum(Tape& tape, Var x, float factor = 1.0f);

}  // namespace regard::ops
