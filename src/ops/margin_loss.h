// Triplet loss (Schroff et al. 2015, equation 2): one distance should be smaller than another by a margin.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1]: factor · Σ max(0, near − far + margin). The sum is taken over all rows of near and far
// [rows, 1], in order in double precision.
Var margin_loss(Tape& tape, Var near, Var far, float margin, float factor = 1.0f);

}  // namespace regard::ops
