// Retrieval metrics compared with scikit-learn (tools/make_metric_cases.py).
#include "metrics/retrieval.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

TEST(RetrievalMetrics, EqualScikitLearns) {
  const Json golden = read_json(testing::golden("metrics/retrieval.json"));
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const Json& one : golden["cases"]) {
    const auto scores = one["scores"].get<std::vector<float>>();
    const auto right = one["right"].get<std::vector<std::int64_t>>();
    const std::vector<std::int64_t> ranks =
        ranks_of_right(scores, one["candidates"].get<std::int64_t>(), right);
    EXPECT_NEAR(mean_reciprocal_rank(ranks), one["mrr"].get<double>(), 1e-12);
    for (const auto& [k, expected] : one["at"].items())
      EXPECT_NEAR(recall_at(ranks, std::stoll(k)), expected.get<double>(), 1e-12) << k;
  }
}

// A tie and a NaN score count against the correct candidate.
TEST(RetrievalMetrics, TiesCountAgainstTheRightCandidate) {
  const std::vector<float> scores{0.5f, 0.5f, 0.1f, std::numeric_limits<float>::quiet_NaN(), 0.2f, 0.3f};
  EXPECT_EQ(ranks_of_right(scores, 3, std::vector<std::int64_t>{0, 2}), (std::vector<std::int64_t>{2, 2}));
}

TEST(RetrievalMetrics, RefuseOtherSizes) {
  const std::vector<float> scores{0.5f, 0.5f, 0.1f};
  const std::vector<std::int64_t> right{0}, outside{3};
  EXPECT_REGARD_ERROR(ranks_of_right(scores, 2, right), ErrorKind::usage, "found 3 scores");
  EXPECT_REGARD_ERROR(ranks_of_right(scores, 3, outside), ErrorKind::usage, "0 to 2");
  EXPECT_REGARD_ERROR(recall_at({}, 1), ErrorKind::usage, "one query");
  EXPECT_REGARD_ERROR(mean_reciprocal_rank({}), ErrorKind::usage, "one query");
}

}  // namespace
}  // namespace regard::metrics
