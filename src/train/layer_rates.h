// Which weights are trained, and at what share of the learning rate, by their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/parameter.h"

namespace regard::train {

// Whether `name` matches `pattern`: * stands for any characters, ? for one.
bool matches(const std::string& name, const std::string& pattern);

// Make the weights that match a pattern not trainable. Throws usage naming a pattern that no weight matches,
// and if no weight is left to train.
void freeze(std::span<Parameter* const> parameters, std::span<const std::string> patterns);

// Layer-wise learning-rate decay (Clark et al. 2020, ELECTRA): a factor for each of `trained`, of a
// model with the parameters `all`. Empty if decay is 1. A weight of layer i of n
// (the first number in its name; each stack has its own n) has decay^(n − i), i from 0; embeddings have
// decay^(n + 1) of the deepest stack; heads and final norms have 1. So the last layer has decay^1.
std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay);

}  // namespace regard::train
