// Copy the weights of one model to another of the same family that has a different head.
#pragma once

#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

// Copy the weights of `from` to the weights of `model` with the same name (by the family's NameRules) and
// shape. Skip weights whose names, without the rules' prefixes, begin with `except`. An empty `except` skips
// none. The weights of `from` must be f32. Return the names of the weights that are not set.
std::vector<std::string> copy_weights(Network& from, Network& model, const std::string& except = "");

}  // namespace regard::models
