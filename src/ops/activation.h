// Activation as a separate operation. After a linear layer, use LinearOptions::activation, which is fused.
#pragma once

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

// return activation(x); x must be contiguous
Var activate(Tape& tape, Var x, kernels::Activation activation);

}  // namespace regard::ops
