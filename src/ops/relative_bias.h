// Relative position bias (Shaw et al. 2018, in the form of T5: Raffel et al. 2020, section 2.1). The table
// has one number for each bucket of distances and each head; this number is added to the attention scores.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Maps distances key − query to buckets: one bucket for each small distance, logarithmic buckets for larger
// ones, and the last bucket for all distances of at least max_distance. Computed in f32, as in Hugging Face
// transformers.
struct RelativeBuckets {
  std::int64_t count = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;  // use half of the buckets for keys after the query
  std::int64_t of(std::int64_t distance) const;
};

// Return the bias [groups, heads, queries, keys] from the table [buckets, heads]; query i of group g is at
// the position of key first[g] + i. `first` [groups] must stay valid until the backward pass.
Var relative_bias(Tape& tape, Var table, const RelativeBuckets& buckets, std::span<const std::int64_t> first,
                  std::int64_t queries, std::int64_t keys);

}  // namespace regard::ops
