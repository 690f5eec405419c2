// Multiplication by the exponential of a learned value, such as the logit scale of CLIP and SigLIP.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return exp(log_factor) · x + bias. x: any shape, contiguous; log_factor and bias: one element each; bias
// may be null.
Var scale_exp(Tape& tape, Var x, Var log_factor, Var bias = nullptr);

}  // namespace regard::ops
