// Which weights are trained, and at what share of the learning rate, by their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/parameter.h"

namespace regard::train {

// Return true if `name` matches `pattern`: * stands for any characters, ? for one.
bool matches(const std::string& name, const std::string& pattern);

// Make the weights that match a pattern not trainable. Throws usage naming a pattern that no weight matches,
// and if no weight is left to train.
void freeze(std::span<Parameter* const> parameters, std::span<const std::string> patterns);

// Layer-wise learning-rate decay (Clark et al. 2020, ELECTRA). Return the factor of the learning rate of each
// parameter in `trained`; `all` are the parameters of the whole model. Empty if decay is 1. The factor is
// decay^(n − i) in layer i of n (i from 0, the first number in the parameter's name; each stack has its own
// n), decay^(n + 1) of the deepest stack for embeddings, and 1 for heads and final norms.
std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay);

}  // namespace regard::train
