// Names of attention heads, and attention as a stand-alone function: softmax(q kᵀ · scale + mask) v (Vaswani
// et al. 2017, section 3.2.1), forward and backward. The forward pass does not store the attention weights;
// attention_weights() recomputes them.
#pragma once

#include <cstdint>

#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

// Kind of attention: encoder self-attention, decoder self-attention, or cross-attention from the decoder to
// the encoder's output.
enum class Kind : std::uint8_t { encoder, decoder, cross };

struct HeadName {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0, head = 0;  // layer and head, both counted from 0
};

// Alignment of a causal mask if the numbers of keys and queries differ. With `end`, the last query attends to
// every key, as with a key/value cache; with `start`, query i attends to keys 0 to i, as in PyTorch's
// scaled_dot_product_attention.
enum class CausalAlignment { end, start };

struct AttentionOptions {
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::end;
  // Sliding window: a query attends only to keys less than `window` positions away. Default: 0, which means
  // no window; must not be negative.
  std::int64_t window = 0;
  float scale = 0.0f;  // finite factor of the scores; default: 0, which means 1 / √head_dim
  // Soft cap of the scores, not negative: each score becomes softcap · tanh(score / softcap) before bias and
  // mask are applied. Default: 0, which means no cap.
  float softcap = 0.0f;
  // Optional mask and bias, contiguous, with shape [batch or 1, heads or 1, queries, keys]; if both are
  // given, they must have the same shape.
  Tensor mask = {};  // DType::boolean or u8; true means that the query may attend to the key
  Tensor bias = {};  // f32; added to the scores
};

// Return the attention [batch, heads, queries, value_dim] of q [batch, heads, queries, head_dim] over k
// [batch, kv_heads, keys, head_dim] and v [batch, kv_heads, keys, value_dim]. All tensors are f32 and
// contiguous, heads is a multiple of kv_heads, head_dim and kv_heads are at least 1, and every other size may
// be 0. Throws usage if shapes, dtypes or options are invalid or a tensor is undefined.
//
// If a query may attend to no key, its output is zero; NaN in a query, key or value propagates to the outputs
// that use it. Results are bit-identical for any number of threads and regardless of what else is in the
// batch.
REGARD_API Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options = {});

// Return the attention weights [batch, heads, queries, keys], f32. Each row sums to one, or to zero if its
// query may attend to no key. Throws as attention() does.
REGARD_API Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});

struct AttentionGradients {
  Tensor query, key, value;  // gradients, with the shapes of q, k and v
  Tensor bias;               // gradient, with the shape of the bias; undefined if there is no bias
};

// Return the gradients of a loss with respect to q, k, v and the bias. `out_gradient` [batch, heads, queries,
// value_dim] is the loss's gradient with respect to attention(q, k, v, options). Throws as attention() does.
REGARD_API AttentionGradients attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                                 const Tensor& out_gradient,
                                                 const AttentionOptions& options = {});

}  // namespace regard
