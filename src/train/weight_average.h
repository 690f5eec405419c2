// Checkpoint averaging (Vaswani et al. 2017, section 6.1: the average of the last 5 or 20 checkpoints).
#pragma once

#include <filesystem>
#include <span>

#include "models/network.h"

namespace regard::train {

// Set every weight of the model to its mean over the checkpoints. The sum is computed in double, in the order
// of `checkpoints`. Throws bad_file if a checkpoint does not match the model.
void average_weights(Network& model, std::span<const std::filesystem::path> checkpoints);

}  // namespace regard::train
