// The loss of tasks that predict one of several labels.
#pragma once

#include <span>

#include "ops/tape.h"
#include "train/batch.h"
#include "train/objective.h"

namespace regard::train {

// Cross-entropy of the batch's labels; logits [labels of the batch, labels]. `weights`: of each label; empty:
// 1 each. Labels of kIgnoredLabel do not count.
Var label_loss(Tape& tape, Var logits, const Batch& batch, std::span<const float> weights,
               const LossOptions& options);

}  // namespace regard::train
