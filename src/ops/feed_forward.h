// A feed-forward layer in bf16 (bf16_store.h) as one operation: y = down(dropout(activation(up(x)))) +
// residual. The forward pass stores only up(x), and the backward pass recomputes the activation with a
// bit-identical result; up(x) and its gradient are bf16.
#pragma once

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/dropout.h"

namespace regard::ops {

struct FeedForwardWeights {
  Var up = nullptr, up_bias = nullptr;      // up: [inner, in]; up_bias: [inner] or null
  Var down = nullptr, down_bias = nullptr;  // down: [out, inner]; down_bias: [out] or null
  bool transposed = false;                  // true if the weights are stored as [in, inner] and [inner, out]
  kernels::Activation activation = kernels::Activation::relu;
};

// Dropout after the activation (dropout.h), for the batch `shape`.
struct InnerDropout {
  const Ragged& shape;
  DropoutOptions options;
};

// Return [tokens, out]. x: [tokens, in], f32 or stored as bf16; residual: [tokens, out] or null. Requires
// stores_bf16(tape).
Var feed_forward(Tape& tape, Var x, const FeedForwardWeights& weights, const InnerDropout& dropout,
                 Var residual);

}  // namespace regard::ops
