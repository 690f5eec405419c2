// Selection by name of the weights that are trained, and of their share of the learning rate.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/parameter.h"

namespace regard::train {

// Return true if `name` matches `pattern`. * matches any characters, ? matches one.
bool matches(const std::string& name, const std::string& pattern);

// Make the weights that match a pattern not trainable. Throws usage if no weight matches a pattern, naming
// it, or if no trainable weight is left.
void freeze(std::span<Parameter* const> parameters, std::span<const std::string> patterns);

// Layer-wise learning-rate decay (Clark et al. 2020, ELECTRA). Return the factor of the learning rate of
// each parameter in `trained`; `all` are the parameters of the whole model. Empty if decay is 1. In layer i
// of n, the factor is decay^(n − i); i is the first number in the parameter's name, from 0, and each stack
// has its own n. Embeddings have the factor decay^(n + 1), with n of the deepest stack. Heads and final
// norms have the factor 1.
std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay);

}  // namespace regard::train
