// Additive attention (Bahdanau et al. 2015): score(query, key) = v · tanh(query + key).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Range of rows [begin, end) of the keys and values to which one query attends. The ranges of two queries
// must be disjoint or equal, and queries with equal ranges must be adjacent.
struct KeyRange {
  std::int32_t begin = 0, end = 0;
};

struct AdditiveAttention {
  Var context = nullptr;  // [rows, value features]
  // The attention weights of each row (sum 1), concatenated in the order of rows. The memory is valid until
  // the next Tape::begin().
  std::span<const float> weights;
};

// Row r of the query attends to the range keys[r]. If the range is empty, the context is zero. Shapes: query
// [rows, size], key [keys, size], value [keys, features], score [size], keys [rows]. In the notation of the
// paper, query is W_a s, key is U_a h, and score is v. `keys` must stay valid until the backward pass.
AdditiveAttention additive_attention(Tape& tape, Var query, Var key, Var value, Var score,
                                     std::span<const KeyRange> keys);

}  // namespace regard::ops
