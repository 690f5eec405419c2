// The loss that `regard run` computes: of the model's head and labels, or of given weights.
#pragma once

#include <map>
#include <string>

#include "inspect/padded_side.h"

namespace regard::inspect {

// values: the outputs by their names, ragged. side: whose tokens the labels are of.
Var loss_of(Tape& tape, Network& model, const TensorMap& inputs, const std::map<std::string, Var>& values,
            const PaddedSide& side);

}  // namespace regard::inspect
