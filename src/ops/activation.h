// An activation on its own (behind a linear layer it is fused: LinearOptions).
#pragma once

#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

Var activate(Tape& tape, Var x, kernels::Activation activation);  // contiguous

}  // namespace regard::ops
