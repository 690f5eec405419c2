// Low-rank updates (LoRA) of the weights of linear layers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/namespaces.h"
#include "base/thread_pool.h"
#include "ops/parameter.h"

namespace regard::nn {

// The low-rank update of a weight: scale · B A [out, in]. If the weight is stored as [in, out], the transpose
// is added.
struct LowRank {
  Parameter a;              // NAME.lora_A.weight [rank, in]
  Parameter b;              // NAME.lora_B.weight [out, rank]
  std::int64_t column = 0;  // index of the weight's first output feature in its layer
  float scale = 1.0f;
};

// The weights of a linear layer and their low-rank updates.
struct LinearBlock : ParameterBlock {
  std::vector<std::unique_ptr<LowRank>> updates;
};

// Return true if the parameter is the weight of a Linear (not a bias, table, norm or output layer), and is
// not stored as a convolution.
bool has_low_rank(const Parameter& weight);

// Add an update with value zero to the weight, and return the update, which the weight's layer owns. `name`
// is the layer's name, used in the parameters' names. Throws usage if has_low_rank() is false or the weight
// already has an update.
LowRank& add_low_rank(Parameter& weight, const std::string& name, std::int64_t rank, float scale);

// Return the weight's update, or null if there is none.
LowRank* low_rank_of(const Parameter& weight);

// Add the low-rank update, if there is one, to the weight's value, and delete the update. Throws usage if the
// weight is stored for inference only.
void merge_low_rank(ThreadPool& pool, Parameter& weight);

}  // namespace regard::nn
