// Freezes weights by name pattern, and computes layer-wise learning-rate decay.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/parameter.h"

namespace regard::train {

// Return true if `name` matches `pattern`: * matches any sequence of characters, ? matches one character.
bool matches(const std::string& name, const std::string& pattern);

// Make the weights whose names match a pattern not trainable. Throws usage if a pattern matches no weight, or
// if no trainable weight remains. The message contains the pattern.
void freeze(std::span<Parameter* const> parameters, std::span<const std::string> patterns);

// Layer-wise learning-rate decay (Clark et al. 2020, ELECTRA). Return the factor of the learning rate for
// each parameter in `trained`; `all` are the parameters of the whole model. The result is empty if decay is
// 1. The factor in layer i of n is decay^(n − i). Here i is the first number in the parameter's name, counted
// from 0, and n is the number of layers of the same stack (encoder or decoder). Embeddings, and the
// convolutions that read sounds, have the factor decay^(n + 1), where n is the number of layers of the
// deepest stack. Heads and final norms have the factor 1.
std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay);

}  // namespace regard::train
