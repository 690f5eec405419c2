// The loss of a micro-batch.
#pragma once

#include "models/network.h"
#include "ops/tape.h"
#include "train/batch.h"

namespace regard::train {

struct LossOptions {
  float label_smoothing = 0.0f;
  float factor = 1.0f;  // factor by which the sum of losses is multiplied
  float r_drop = 0.0f;  // weight of the divergence of R-Drop (r_drop.h); 0 disables R-Drop
};

class Objective {
 public:
  virtual ~Objective() = default;
  // Record the forward pass of training or validation on `tape`. Return the scalar factor · Σ weight · loss
  // over the counted labels of the batch; Batch::weight() is the sum of their weights.
  virtual Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const = 0;
};

// Return the cross-entropy of the next tokens, for decoders and encoder–decoders.
Var next_token_loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options);

}  // namespace regard::train
