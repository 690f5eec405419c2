// Copy the weights of one model to another of the same family that has a different head.
#pragma once

#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

// Copy the weights of `from` (f32) to `model`. Two weights match if they have the same shape and, after their
// models' NameRules are applied, the same name. If `except` is not empty, skip weights whose name without
// prefix begins with `except`. Return the names of the weights of `model` that are not set.
std::vector<std::string> copy_weights(Network& from, Network& model, const std::string& except = "");

}  // namespace regard::models
