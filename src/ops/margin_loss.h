// Triplet loss: one distance should be smaller than another by a margin (Schroff et al. 2015, equation 2).
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// near, far [rows, 1] → scalar [1]: factor × Σ max(0, near − far + margin), summed in order in double
// precision.
Var margin_loss(Tape& tape, Var near, Var far, float margin, float factor = 1.0f);

}  // namespace regard::ops
