#include "train/objective.h"

#include "ops/cross_entropy.h"
#include "train/r_drop.h"

namespace regard::train {
namespace {

// Return the last hidden states of a teacher-forced pass.
Var hidden_states(Network& model, Tape& tape, const Batch& batch) {
  Memory memory;
  const bool has_source = model.kind() == ModelKind::encoder_decoder;
  if (has_source) {
    memory.shape = batch.source.view();
    memory.hidden = model.encode(tape, batch.source_batch());
  }
  return model.decode(tape, batch.target_batch(), has_source ? &memory : nullptr, nullptr);
}

}  // namespace

Var next_token_loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) {
  if (options.r_drop == 0.0f)
    return model.loss(tape, hidden_states(model, tape, batch), batch.labels, options.label_smoothing,
                      options.factor);
  return r_drop_loss(
      tape, batch.labels, options, [&] { return model.logits(tape, hidden_states(model, tape, batch)); },
      [&](Var logits, const LossOptions& half) {
        return ops::cross_entropy(tape, logits, batch.labels,
                                  {half.label_smoothing, kIgnoredLabel, half.factor});
      });
}

}  // namespace regard::train
