// The loss of `regard run`, from the model's head and labels or from loss_weight inputs (see run_tensors.h).
#pragma once

#include <map>
#include <string>

#include "inspect/padded_side.h"

namespace regard::inspect {

// Return the loss of the ragged outputs `values`, computed with the labels or loss weights in `inputs`; the
// labels belong to the tokens of `side`. Throws invalid_input for missing or invalid labels or loss weights,
// and usage if the head has no loss.
Var loss_of(Tape& tape, Network& model, const TensorMap& inputs, const std::map<std::string, Var>& values,
            const PaddedSide& side);

}  // namespace regard::inspect
