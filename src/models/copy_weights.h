// Copy the weights of one model to another of the same family that has a different head.
#pragma once

#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

// Copy the weights of `from`, which must be f32, to the weights of `model` with the same name (according to
// NameRules) and shape, except those whose name without prefix begins with `except` (empty: no exception).
// Return the names of the weights of `model` that are not set.
std::vector<std::string> copy_weights(Network& from, Network& model, const std::string& except = "");

}  // namespace regard::models
