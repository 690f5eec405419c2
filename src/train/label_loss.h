// The loss of tasks that predict one of several labels.
#pragma once

#include <span>

#include "ops/tape.h"
#include "train/batch.h"
#include "train/objective.h"

namespace regard::train {

// Return the cross-entropy of the batch's labels, except those equal to kIgnoredLabel. `logits` is [labels of
// the batch, classes]; `weights` is [classes], or empty if all are 1.
Var label_loss(Tape& tape, Var logits, const Batch& batch, std::span<const float> weights,
               const LossOptions& options);

}  // namespace regard::train
