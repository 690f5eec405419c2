// Multiplication by a learned factor that is stored as its logarithm: CLIP's and SigLIP's logit scale.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x of any shape, contiguous; log_factor and bias: one element each, bias may be null → exp(log_factor) · x +
// bias.
Var scale_exp(Tape& tape, Var x, Var log_factor, Var bias = nullptr);

}  // namespace regard::ops
