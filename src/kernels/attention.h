// Scaled dot-product attention over ragged batches (Vaswani et al. 2017, section 3.2.1), forward and
// backward. It uses the online softmax (Milakov and Gimelshein 2018; Dao et al. 2022). The attention weights
// are never stored. The log-sum-exp (lse) of each row is stored, and the backward pass recomputes the weights
// from it.
//
// For query i and key j of the same sequence, head h:
//   s = scale · (q_i · k_j);  s = cap · tanh(s / cap) if softcap;  s += bias;  masked: s = −∞
//   w = exp(s − lse_i);  out_i = Σ_j w_ij v_j
// A row that may attend to no key has lse −∞, weights 0, output 0 and gradient 0.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "base/thread_pool.h"
#include "kernels/attention_spec.h"

namespace regard::kernels {

// Keys and values in cache pages. Row r of the sequence is row r % rows of page r / rows. In a page, keys are
// [kv_heads, rows, head_dim] and values [kv_heads, rows, value_dim], unless the pages are in bf16.
struct AttentionPages {
  const float* const* at = nullptr;  // pointers to the pages; a page that no query may attend to may be null
  std::int64_t rows = 0;             // rows per page; an even number
  std::int64_t key = 0, value = 0;   // offsets of keys and values in a page, in floats
  bool bf16 = false;                 // true if the pages have the layout of bf16_pages.h

  // Return row r of a head's keys (`offset` is `key`, `dim` is head_dim) or values. Not for bf16.
  const float* row(std::int64_t offset, std::int64_t dim, std::int64_t kv_head, std::int64_t r) const {
    return at[r / rows] + offset + (kv_head * rows + r % rows) * dim;
  }
};

// One sequence of a batch. Rows of q, out and lse are indexed over the whole batch. Each sequence has its own
// pointers to keys and values, because they may be in a cache.
struct AttentionSequence {
  std::int64_t query_begin = 0;  // first row in q
  std::int64_t queries = 0;
  const float* key = nullptr;    // row 0 of this sequence: [keys, kv_heads × head_dim], stride key_stride
  const float* value = nullptr;  // [keys, kv_heads × value_dim], stride value_stride
  AttentionPages pages;          // used instead of key and value if pages.at is set; forward only
  // Gradients of key and value, for the backward pass only; overwritten. They have the shapes of key and
  // value, and the strides key_gradient_stride and value_gradient_stride.
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;
  std::int64_t keys = 0;
  // Query i has the position of key i + offset. offset = keys − queries aligns the ends, and offset = 0
  // aligns the starts.
  std::int64_t offset = 0;
  std::uint64_t index = 0;    // the sequence's index in the global batch, which selects its random draws
  std::int64_t mask_row = 0;  // index of this sequence in mask and bias
};

// Arguments of the kernels. The AttentionSpec must be a result of resolved().
struct Attention : AttentionSpec, AttentionMask, AttentionBiasStrides {
  const float* bias = nullptr;  // bias added to the scores; may be null
  // Gradient of `bias`, with the same strides as `bias`. Terms are added in the order of sequences, then of
  // queries.
  float* bias_gradient = nullptr;
  // Random key of dropout. The draw of an attention weight depends on the random key and on the counter
  // (index, i + offset, head, j).
  RandomKey dropout_key;

  std::span<const AttentionSequence> sequences;
  const float* query = nullptr;  // [rows, heads × head_dim], row stride query_stride
  std::int64_t query_stride = 0;
  std::int64_t key_stride = 0, value_stride = 0;
  float* out = nullptr;  // [rows, heads × value_dim], row stride out_stride
  std::int64_t out_stride = 0;
  float* lse = nullptr;  // log-sum-exp of each row [rows, heads]; may be null if no backward pass follows

  // Backward only. out_gradient (d loss / d out) is an input, and query_gradient (d loss / d query) is
  // overwritten.
  const float* out_gradient = nullptr;
  std::int64_t out_gradient_stride = 0;
  float* query_gradient = nullptr;
  std::int64_t query_gradient_stride = 0;
  std::int64_t key_gradient_stride = 0, value_gradient_stride = 0;
};

void attention_forward(ThreadPool& pool, const Attention& problem);

// Compute the gradients. Requires query, keys and values, and out and lse from the forward pass.
void attention_backward(ThreadPool& pool, const Attention& problem);

// Compute the attention weights [queries, keys] of one sequence and head from q, k and lse, without dropout;
// used by probes. A row sums to one, or to zero if its query may attend to no key.
void attention_weights(const Attention& problem, std::int64_t sequence, std::int64_t head, float* weights);

}  // namespace regard::kernels
