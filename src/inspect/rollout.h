// Attention rollout (Abnar and Zuidema 2020): how much each input position contributes to each output
// position of an encoder through all layers, if the residual connections carry half of each state.
#pragma once

#include <cstddef>
#include <vector>

#include "inspect/attention_view.h"

namespace regard::inspect {

// The product of `layers`, last first; each is [tokens, tokens], and so is the result. Empty if there are
// none.
std::vector<double> rollout_of(const std::vector<std::vector<double>>& layers, std::size_t tokens);

// Return [tokens, tokens]: the product over the layers, last first, of ½ · (mean of the heads) + ½ ·
// identity. Rows sum to one. `maps`: all heads of all layers of the encoder; those of other kinds are
// ignored. Throws usage if there are none.
std::vector<float> attention_rollout(const std::vector<Map>& maps);

}  // namespace regard::inspect
