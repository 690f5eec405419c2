// The bias of relative positions (Shaw et al. 2018, in T5's form: Raffel et al. 2020, section 2.1): a number
// for each head and each bucket of distances, added to the scores.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// Which bucket a distance key − query falls into: near ones have one each, farther ones share them
// logarithmically, from max_distance on the last. As transformers computes it, in f32.
struct RelativeBuckets {
  std::int64_t count = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = true;  // half of the buckets for keys that follow
  std::int64_t of(std::int64_t distance) const;
};

// table [buckets, heads] → [groups, heads, queries, keys]: of query i of group g, which stands at key
// first[g] + i, and key j. `first` stays where it is until the backward pass.
Var relative_bias(Tape& tape, Var table, const RelativeBuckets& buckets, std::span<const std::int64_t> first,
                  std::int64_t queries, std::int64_t keys);

}  // namespace regard::ops
