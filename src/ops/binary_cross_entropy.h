// Cross-entropy of independent yes-or-no labels, from logits (torch.nn.BCEWithLogitsLoss).
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// logits and targets (f32 in [0, 1]) of one shape → scalar [1]: factor × Σ −y log σ(x) − (1 − y) log(1 −
// σ(x)). The targets stay where they are until the backward pass. Added in order, in double.
Var binary_cross_entropy(Tape& tape, Var logits, const Tensor& targets, float factor = 1.0f);

}  // namespace regard::ops
