// Linear layer: y = activation(x Wᵀ + b) + residual.
#pragma once

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

struct LinearOptions {
  kernels::Activation activation = kernels::Activation::none;
  Var residual = nullptr;   // [tokens, out] or null
  bool transposed = false;  // true if the weight is stored as [in, out], as in GPT-2's checkpoints
  bool store_bf16 = false;  // store the result as bf16 (bf16_store.h); ignored if there is a residual
  const kernels::PackedMatrix* packed = nullptr;  // the packed weight; used if no gradient is needed
};

// Return [tokens, out]. x: [tokens, in], f32 or stored as bf16, whose rows may be strided; weight: [out, in];
// bias: [out] or null.
Var linear(Tape& tape, Var x, Var weight, Var bias, const LinearOptions& options = {});

}  // namespace regard::ops
