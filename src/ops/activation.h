// Activation as a separate operation. After a linear layer, use LinearOptions::activation, which is fused.
#pragma once

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

Var activate(Tape& tape, Var x, kernels::Activation activation);  // x must be contiguous

}  // namespace regard::ops
