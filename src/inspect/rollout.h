// Attention rollout (Abnar and Zuidema 2020): the contribution of each input position to each output position
// of an encoder through all layers, assuming that the residual connections carry half of each hidden state.
#pragma once

#include <cstddef>
#include <vector>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Return the matrix product [tokens, tokens] of `layers`, each [tokens, tokens], with the last layer on the
// left. Returns an empty vector if there are no layers.
std::vector<double> rollout_of(const std::vector<std::vector<double>>& layers, std::size_t tokens);

// Return [tokens, tokens]: the product over the layers, the last one first, of ½ · (mean of the heads) + ½ ·
// identity. Rows sum to one. `maps` must contain all heads of all layers of the encoder; maps of other kinds
// are ignored. Throws usage if there are none.
std::vector<float> attention_rollout(const std::vector<Map>& maps);

}  // namespace regard::inspect
