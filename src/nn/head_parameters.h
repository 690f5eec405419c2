// Reports the parameters of each attention head to a probe that requests them.
#pragma once

#include <string_view>

#include "base/namespaces.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"

namespace regard::nn {

// The linear layers of a MultiHeadAttention.
struct AttentionLayers {
  // cross-attention: queries of all heads; self-attention: queries, then keys, then values of all heads
  const Linear* query;
  const Linear* key_value;  // cross-attention: keys, then values of all heads; self-attention: null
  const Linear* output;
};

// Report the parameters to the tape's probe if it is a ParametersProbe that requests them.
void show_parameters(Tape& tape, std::string_view point, const AttentionConfig& config,
                     const AttentionLayers& layers);

}  // namespace regard::nn
