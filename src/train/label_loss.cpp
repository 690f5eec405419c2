#include "train/label_loss.h"

#include "ops/cross_entropy.h"
#include "ops/weighted_cross_entropy.h"

namespace regard::train {

Var label_loss(Tape& tape, Var logits, const Batch& batch, std::span<const float> weights,
               const LossOptions& options) {
  const ops::CrossEntropyOptions how{options.label_smoothing, kIgnoredLabel, options.factor};
  return weights.empty() ? ops::cross_entropy(tape, logits, batch.labels, how)
                         : ops::weighted_cross_entropy(tape, logits, batch.labels, weights, how);
}

}  // namespace regard::train
