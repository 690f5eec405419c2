#include "train/objective.h"

namespace regard::train {

Var next_token_loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) {
  Memory memory;
  const bool has_source = model.kind() == ModelKind::encoder_decoder;
  if (has_source) {
    memory.shape = batch.source.view();
    memory.hidden = model.encode(tape, batch.source_batch());
  }
  Var hidden = model.decode(tape, batch.target_batch(), has_source ? &memory : nullptr, nullptr);
  return model.loss(tape, hidden, batch.labels, options.label_smoothing, options.factor);
}

}  // namespace regard::train
