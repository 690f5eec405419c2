// The parameters of a MultiHeadAttention by head, for a probe that requests them.
#pragma once

#include <string_view>

#include "base/namespaces.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"

namespace regard::nn {

// The layers of one attention. Self-attention: `query` computes the features of all queries, then all keys,
// then all values, and key_value is null. Cross-attention: `key_value` computes those of all keys, then all
// values.
struct AttentionLayers {
  const Linear* query;
  const Linear* key_value;
  const Linear* output;
};

// Report the parameters to the tape's probe if it is a ParametersProbe that requests them.
void show_parameters(Tape& tape, std::string_view point, const AttentionConfig& config,
                     const AttentionLayers& layers);

}  // namespace regard::nn
