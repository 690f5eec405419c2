// Attention rollout (Abnar and Zuidema 2020): the contribution of each input position to each output position
// of an encoder. It assumes that residual connections contribute half of each hidden state.
#pragma once

#include <cstddef>
#include <vector>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Return the matrix product [tokens, tokens] of `layers`, each [tokens, tokens], with the last layer on the
// left. Returns an empty vector if there are no layers.
std::vector<double> rollout_of(const std::vector<std::vector<double>>& layers, std::size_t tokens);

// Return the product [tokens, tokens] of one matrix per layer, with the last layer on the left. The matrix of
// a layer is ½ · (mean of the heads) + ½ · identity. Rows sum to one. `maps` must contain all heads of all
// layers of the encoder; maps of other kinds are ignored. Throws usage if there are no maps of the encoder.
std::vector<float> attention_rollout(const std::vector<Map>& maps);

}  // namespace regard::inspect
