// Additive attention (Bahdanau et al. 2015): score(query, key) = v · tanh(query + key).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// A range of rows [begin, end) of the keys and values.
struct KeyRange {
  std::int32_t begin = 0, end = 0;
};

struct AdditiveAttention {
  Var context = nullptr;  // [rows, value features]
  // The attention weights of each row's keys, concatenated in the order of rows. The weights of a row sum to
  // 1. Valid until the next Tape::begin().
  std::span<const float> weights;
};

// Compute the attention. Arguments: query [rows, size] (W_a s), key [keys, size] (U_a h), value [keys,
// features] and score [size] (v). Row r attends to keys[r]. The ranges of two rows must be disjoint or equal,
// and rows with equal ranges must be adjacent. A row without keys gets zeros. `keys` must stay valid until
// the backward pass.
AdditiveAttention additive_attention(Tape& tape, Var query, Var key, Var value, Var score,
                                     std::span<const KeyRange> keys);

}  // namespace regard::ops
