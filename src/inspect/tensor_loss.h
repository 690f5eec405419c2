// The loss of `regard run`, from the model's head and labels or from loss_weight inputs (see run_tensors.h).
#pragma once

#include <map>
#include <string>

#include "inspect/padded_side.h"

namespace regard::inspect {

// Return the loss. `values` holds the ragged outputs by name. `side` is the padded input; the labels belong
// to its tokens. Throws invalid_input for missing or invalid labels or loss weights, and usage if the head
// has no loss.
Var loss_of(Tape& tape, Network& model, const TensorMap& inputs, const std::map<std::string, Var>& values,
            const PaddedSide& side);

}  // namespace regard::inspect
