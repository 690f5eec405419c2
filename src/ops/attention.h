// Scaled dot-product attention over a ragged batch with the fused kernel, which does not store the attention
// weights. If a probe requests the weights, they are recomputed from the log-sum-exp; the result does not
// change.
#pragma once

#include <span>
#include <string_view>

#include "base/namespaces.h"
#include "kernels/attention.h"
#include "ops/ragged.h"
#include "ops/tape.h"
#include "regard/attention.h"

namespace regard::ops {

// Consecutive columns of a variable, starting at `column`; they are read without a copy. For example, one
// linear layer may compute queries, keys and values as columns of its output.
struct Columns {
  Var variable = nullptr;  // [tokens, features]
  std::int64_t column = 0;
};

// Bias that is added to the attention scores: contiguous f32, indexed with AttentionBiasStrides. It may
// require a gradient.
struct AttentionBias : kernels::AttentionBiasStrides {
  Var bias = nullptr;
};

// A zero in a field of AttentionSpec means the default of that field. Dropout is applied if the tape is in
// training mode.
struct AttentionOptions : kernels::AttentionSpec, kernels::AttentionMask, AttentionBias {
  CausalAlignment causal_alignment = CausalAlignment::end;
  std::uint32_t dropout_place = 0;
  // Store the result as bf16; ignored unless stores_bf16(tape). The backward pass then reads the rounded
  // result.
  bool store_bf16 = false;
  // With bf16, queries, keys, values and attention weights are rounded to bf16 (bf16_pages.h). Ignored if the
  // tape records.
  kernels::Precision precision = kernels::Precision::f32;

  // Prefix of the names of probe points; if empty, no values are reported. The points are POINT.weights
  // (attention weights) and, only without a key/value cache, POINT.query, POINT.key and POINT.value.
  std::string_view point;
};

// Return the attention output [query tokens, heads × value_dim]; sequence s of the queries attends to
// sequence s of the keys. query: [query tokens, heads × head_dim]; key: [key tokens, kv_heads × head_dim];
// value: [key tokens, kv_heads × value_dim]; all f32 or all stored as bf16, possibly columns of one variable,
// which may overlap.
Var attention(Tape& tape, Columns query, Columns key, Columns value, const Ragged& queries,
              const Ragged& keys, const AttentionOptions& options);

// Location of one sequence's keys and values in a cache. All sequences must have the same value of
// pages.bf16.
struct CachedKeys {
  std::int64_t keys = 0;
  kernels::AttentionPages pages;
};

// Compute attention to cached keys and values: sequence s of the queries attends to keys[s]. No gradients are
// computed; throws usage if the tape records.
Var attention_cached(Tape& tape, Columns query, std::span<const CachedKeys> keys, const Ragged& queries,
                     const AttentionOptions& options);

}  // namespace regard::ops
