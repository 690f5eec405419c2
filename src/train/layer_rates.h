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
// 1. Otherwise, the factors are:
// - Layer i (from 0) of a stack (encoder or decoder) of n layers: decay^(n − i). The first number in a
//   parameter's name is i.
// - Embeddings and the convolutions that read sounds: decay^(n + 1), where n is the number of layers of the
//   deepest stack.
// - All other parameters, such as heads and final norms: 1.
std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay);

}  // namespace regard::train
