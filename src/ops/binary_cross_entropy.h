// Cross-entropy of independent yes-or-no labels, from logits (torch.nn.BCEWithLogitsLoss).
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1]: factor · Σ (−y log σ(x) − (1 − y) log(1 − σ(x))), where x are the logits and y the
// targets. Both have the same shape, and the sum is computed in double precision in the order of the
// elements. Targets are f32 in [0, 1] and must stay valid until the backward pass.
Var binary_cross_entropy(Tape& tape, Var logits, const Tensor& targets, float factor = 1.0f);

}  // namespace regard::ops
