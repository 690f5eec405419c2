// Squared error (torch.nn.MSELoss), for regression.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return the scalar [1] factor · Σ (x − target)², summed in order in double precision, for x and targets
// (f32) of the same shape. `targets` need not stay valid after the call.
Var squared_error(Tape& tape, Var x, const Tensor& targets, float factor = 1.0f);

}  // namespace regard::ops
