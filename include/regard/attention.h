// Attention as a function, usable alone: softmax(q kᵀ · scale + mask) v (Vaswani et al. 2017, section 3.2.1),
// forward and backward, never storing the weights. They are computed again for whoever asks to see them.
#pragma once

#include "regard/tensor.h"

namespace regard {

// Where a causal mask stands when there are more keys than queries: at the end (the last query sees every
// key, as with a key/value cache) or at the start (query i sees keys 0 to i, as PyTorch's
// scaled_dot_product_attention has it).
enum class CausalAlignment { end, start };

struct AttentionOptions {
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::end;
  std::int64_t window =
      0;                 // > 0: only keys less than `window` away from the query's own place; never below 0
  float scale = 0.0f;    // 0: 1 / √head_dim; finite
  float softcap = 0.0f;  // 0: none; > 0: scores become cap · tanh(score / cap), before bias and mask
  // Either may be undefined. [batch or 1, heads or 1, queries, keys]. Mask (DType::boolean or u8): true = may
  // attend.
  Tensor mask = {};
  Tensor bias = {};  // f32, added to the scores
};

// q [batch, heads, queries, head_dim], k [batch, kv_heads, keys, head_dim], v [batch, kv_heads, keys,
// value_dim], all f32 and contiguous; heads is a multiple of kv_heads. Returns [batch, heads, queries,
// value_dim]. A query with nothing to attend to gets zeros. Throws usage where shapes, dtypes or options do
// not fit, or a tensor is undefined; head_dim is at least 1, every other size may be 0. NaN in the values of
// a query, key or value gives NaN where it is used. Same bits for any number of threads and any batch.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

// The weights: [batch, heads, queries, keys]. Rows sum to one, or to zero where nothing may be attended to.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});

struct AttentionGradients {
  Tensor query, key, value;  // shapes of q, k, v
  Tensor bias;               // shape of the bias; undefined without one
};

// Gradients of a loss whose gradient with respect to attention(q, k, v, options) is out_gradient.
AttentionGradients attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& out_gradient, const AttentionOptions& options = {});

}  // namespace regard
