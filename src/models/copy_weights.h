// Copy the weights of one model to another of the same family that has a different head.
#pragma once

#include <string>
#include <vector>

#include "models/network.h"

namespace regard {

// Set every weight of `model` that `from` has too, with the same name under the family's NameRules and the
// same shape, except those whose names, without the rules' prefixes, begin with `except` unless that is
// empty. Weights of `from` must be f32. Return the names of the weights that are not set.
std::vector<std::string> copy_weights(Network& from, Network& model, const std::string& except = "");

}  // namespace regard
