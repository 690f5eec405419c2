// Options of attention, shared by a layer's configuration, the differentiable operation and the kernel, so
// that each option is declared once.
#pragma once

#include <cmath>
#include <cstdint>

namespace regard::kernels {

struct AttentionSpec {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // query head h uses key/value head h / (heads / kv_heads); 0 means `heads`
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  // number of features of a value; 0 means head_dim
  float scale = 0.0f;          // factor of the products q · k; 0 means 1 / √head_dim
  // If above 0, scores become softcap · tanh(score / softcap), before bias and mask. 0 disables it.
  float softcap = 0.0f;
  bool causal = false;  // query i may attend to key j only if j ≤ i + offset
  // If above 0, query i may attend to key j only if |i + offset − j| < window. With `causal`, these are the
  // last `window` keys. 0 means no window.
  std::int64_t window = 0;
  // dropout rate of the attention weights in training; kept weights are multiplied by 1 / (1 − dropout)
  float dropout = 0.0f;

  // Return the options with every default replaced by its value. The kernels require resolved options.
  AttentionSpec resolved() const {
    AttentionSpec spec = *this;
    if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
    if (spec.value_dim == 0) spec.value_dim = spec.head_dim;
    if (spec.scale == 0.0f) spec.scale = 1.0f / std::sqrt(static_cast<float>(spec.head_dim));
    return spec;
  }
};

// Mask in addition to `causal` and `window`: one element per key, where 1 means that the query may attend to
// the key. Strides between sequences, heads and queries are in elements; stride 0 broadcasts.
struct AttentionMask {
  const std::uint8_t* mask = nullptr;  // mask; null means that all keys may be attended to
  std::int64_t mask_sequence_stride = 0, mask_head_stride = 0, mask_query_stride = 0;
};

// Strides of an additive bias, in elements; stride 0 broadcasts.
struct AttentionBiasStrides {
  std::int64_t bias_sequence_stride = 0, bias_head_stride = 0, bias_query_stride = 0;
};

}  // namespace regard::kernels
