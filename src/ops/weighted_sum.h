// Sum of variables with learned weights. Example: the sum over layers in transformers
// (use_weighted_layer_sum).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return Σ softmax(weights)[i] · parts[i] for weights [parts]. The parts are contiguous and have the same
// shape.
Var weighted_sum(Tape& tape, Var weights, std::span<const Var> parts);

}  // namespace regard::ops
