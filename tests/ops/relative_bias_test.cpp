// The buckets of T5's relative position bias, and the bias with its gradient compared with a reference.
#include "ops/relative_bias.h"

#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/operation_case.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

// Return the distances at which the next bucket begins, up to 199 tokens in one direction, and check that the
// buckets are consecutive from `bucket`.
std::vector<std::int64_t> bounds(const ops::RelativeBuckets& buckets, std::int64_t direction,
                                 std::int64_t bucket) {
  std::vector<std::int64_t> distances;
  for (std::int64_t distance = 1; distance < 200; ++distance) {
    if (buckets.of(direction * distance) == bucket) continue;
    EXPECT_EQ(buckets.of(direction * distance), ++bucket) << distance;
    distances.push_back(distance);
  }
  return distances;
}

// The expected distances were computed with the formula of transformers' T5.
TEST(RelativeBias, BucketsAreThoseOfTransformers) {
  const std::vector<std::int64_t> half{2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  std::vector<std::int64_t> before{1};
  before.insert(before.end(), half.begin(), half.end());
  const ops::RelativeBuckets both{.count = 32, .max_distance = 128, .bidirectional = true};
  EXPECT_EQ(both.of(0), 0);
  EXPECT_EQ(bounds(both, -1, 0), before);
  EXPECT_EQ(bounds(both, 1, 17), half);
  const ops::RelativeBuckets causal{.count = 32, .max_distance = 128, .bidirectional = false};
  EXPECT_EQ(causal.of(0), 0);
  EXPECT_EQ(bounds(causal, -1, 0),
            (std::vector<std::int64_t>{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                       19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
  EXPECT_EQ(bounds(causal, 1, 0), std::vector<std::int64_t>{});
}

// The groups start at different positions, and there are more keys than queries.
TEST(RelativeBias, EqualsTheReference) {
  for (const bool bidirectional : {false, true}) {
    constexpr std::int64_t kHeads = 3, kQueries = 4, kKeys = 11;
    const ops::RelativeBuckets buckets{.count = 8, .max_distance = 9, .bidirectional = bidirectional};
    const std::vector<std::int64_t> first{0, kKeys - kQueries, 1};
    OperationCase bias;
    bias.name = "relative_bias";
    bias.inputs = {{buckets.count, kHeads}};
    bias.operation = [&](Tape& tape, std::span<const Var> v) {
      return ops::relative_bias(tape, v[0], buckets, first, kQueries, kKeys);
    };
    bias.plain = [&](std::span<const Numbers> v) {
      Numbers y;
      for (const std::int64_t start : first)
        for (std::int64_t head = 0; head < kHeads; ++head)
          for (std::int64_t query = 0; query < kQueries; ++query)
            for (std::int64_t key = 0; key < kKeys; ++key)
              y.push_back(v[0][static_cast<std::size_t>(buckets.of(key - start - query) * kHeads + head)]);
      return y;
    };
    check_operation(bias, bidirectional ? 2 : 1);
  }
}

TEST(RelativeBias, ATableHasOneRowForEachBucket) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const std::vector<std::int64_t> first{0};
  for (const std::int64_t rows : {7, 9}) {
    Var table = tape.make({rows, 2}, false);
    EXPECT_REGARD_ERROR(ops::relative_bias(tape, table, {.count = 8, .max_distance = 9}, first, 2, 2),
                        ErrorKind::usage, "8 rows");
  }
}

}  // namespace
}  // namespace regard::testing
