// Squared error (torch.nn.MSELoss), for regression.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1]: factor · Σ (x − target)² over all elements, summed in order in double precision; x and
// targets (f32) have the same shape. `targets` need not stay valid after the call.
Var squared_error(Tape& tape, Var x, const Tensor& targets, float factor = 1.0f);

}  // namespace regard::ops
