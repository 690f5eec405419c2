// Relative position bias (Shaw et al. 2018, in the form of T5: Raffel et al. 2020, section 2.1): one number
// per head and bucket of distances, added to the scores.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// Mapping of distances key − query to buckets: one bucket per small distance, logarithmic buckets for larger
// ones, the last bucket from max_distance. Computed in f32 as in Hugging Face transformers.
struct RelativeBuckets {
  std::int64_t count = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;  // half of the buckets are for keys after the query
  std::int64_t of(std::int64_t distance) const;
};

// table [buckets, heads] → [groups, heads, queries, keys]: the bias of query i of group g, which has the
// position of key first[g] + i, and key j. `first` [groups] must stay valid until the backward pass.
Var relative_bias(Tape& tape, Var table, const RelativeBuckets& buckets, std::span<const std::int64_t> first,
                  std::int64_t queries, std::int64_t keys);

}  // namespace regard::ops
