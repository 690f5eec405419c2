// R-Drop (Liang et al. 2021): two passes over the same batch with different dropout, and
//   loss = ½ (loss(first) + loss(second)) + r_drop · ½ (KL(p‖q) + KL(q‖p)),
// where p and q are the predicted distributions of the two passes, as in the authors' code for classifiers.
// (Their code for translation adds the two losses without the factor ½; its weight α is 2 · r_drop.)
#pragma once

#include <span>

#include "models/network.h"
#include "ops/add.h"
#include "ops/symmetric_divergence.h"
#include "train/objective.h"

namespace regard::train {

// Return the loss of R-Drop. logits() must record a forward pass and return [labels, classes]; loss(logits,
// options) must return the loss of these logits.
template <class Logits, class Loss>
Var r_drop_loss(Tape& tape, std::span<const std::int32_t> labels, const LossOptions& options,
                const Logits& logits, const Loss& loss) {
  Var first = logits();
  tape.set_pass(1);  // use a different dropout mask in the second pass
  Var second = logits();
  tape.set_pass(0);
  LossOptions half = options;
  half.factor *= 0.5f;
  Var both = ops::add(tape, loss(first, half), loss(second, half));
  return ops::add(
      tape, both,
      ops::symmetric_divergence(tape, first, second, labels, kIgnoredLabel, options.r_drop * options.factor));
}

}  // namespace regard::train
