// The loss of tasks that predict one of several labels.
#pragma once

#include <span>

#include "ops/tape.h"
#include "train/batch.h"
#include "train/objective.h"

namespace regard::train {

// Return the cross-entropy of the batch's labels. `logits` has one row per label of the batch and one column
// per class. `weights` holds one weight per class; empty means that all are 1. Labels equal to kIgnoredLabel
// are ignored.
Var label_loss(Tape& tape, Var logits, const Batch& batch, std::span<const float> weights,
               const LossOptions& options);

}  // namespace regard::train
