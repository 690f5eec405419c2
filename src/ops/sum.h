// factor · Σ x, over all elements: how a loss becomes a scalar.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x of any shape, contiguous → scalar [1]. Added in order, in double.
Var sum(Tape& tape, Var x, float factor = 1.0f);

}  // namespace regard::ops
