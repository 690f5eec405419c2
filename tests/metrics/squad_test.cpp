// Exact match and F1 of answers compared with transformers' squad_metrics (tools/make_metric_cases.py).
#include "metrics/squad.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

constexpr double kSquadTolerance = 1e-9;

TEST(SquadMetrics, AnswersAreNormalisedAsBySquadMetrics) {
  const Json golden = read_json(testing::golden("metrics/squad.json"))["cases"];
  ASSERT_GT(golden["normalized"].size(), 20u);
  for (const Json& one : golden["normalized"])
    EXPECT_EQ(normalize_answer(one[0].get<std::string>()), one[1].get<std::string>()) << one[0];
}

TEST(SquadMetrics, PairsEqualSquadMetrics) {
  const Json golden = read_json(testing::golden("metrics/squad.json"))["cases"];
  ASSERT_GT(golden["pairs"].size(), 100u);
  for (const Json& one : golden["pairs"]) {
    const auto predicted = one["predicted"].get<std::string>(), truth = one["truth"].get<std::string>();
    EXPECT_EQ(exact_match(predicted, truth), one["exact"].get<int>() == 1) << one;
    EXPECT_NEAR(answer_f1(predicted, truth), one["f1"].get<double>(), kSquadTolerance) << one;
  }
}

void expect_part(const std::optional<AnswerScores>& scores, const Json& golden, const std::string& prefix) {
  ASSERT_EQ(scores.has_value(), golden.contains(prefix + "_total")) << prefix;
  if (!scores) return;
  EXPECT_NEAR(scores->exact, golden[prefix + "_exact"].get<double>(), kSquadTolerance);
  EXPECT_NEAR(scores->f1, golden[prefix + "_f1"].get<double>(), kSquadTolerance);
  EXPECT_EQ(scores->questions, golden[prefix + "_total"].get<std::int64_t>());
}

TEST(SquadMetrics, SetsEqualSquadEvaluate) {
  const Json golden = read_json(testing::golden("metrics/squad.json"))["cases"];
  ASSERT_EQ(golden["sets"].size(), 4u);
  for (const Json& set : golden["sets"]) {
    std::vector<AnsweredQuestion> questions;
    for (const Json& one : set["questions"])
      questions.push_back({one["predicted"].get<std::string>(), one["truths"].get<std::vector<std::string>>(),
                           one["no_answer"].get<double>()});
    const SquadScores scores = squad_scores(questions);
    const Json& expected = set["scores"];
    EXPECT_NEAR(scores.all.exact, expected["exact"].get<double>(), kSquadTolerance);
    EXPECT_NEAR(scores.all.f1, expected["f1"].get<double>(), kSquadTolerance);
    EXPECT_EQ(scores.all.questions, expected["total"].get<std::int64_t>());
    expect_part(scores.has_answer, expected, "HasAns");
    expect_part(scores.no_answer, expected, "NoAns");
    EXPECT_NEAR(scores.best_exact, expected["best_exact"].get<double>(), kSquadTolerance);
    EXPECT_NEAR(scores.best_exact_threshold, expected["best_exact_thresh"].get<double>(), kSquadTolerance);
    EXPECT_NEAR(scores.best_f1, expected["best_f1"].get<double>(), kSquadTolerance);
    EXPECT_NEAR(scores.best_f1_threshold, expected["best_f1_thresh"].get<double>(), kSquadTolerance);
  }
}

TEST(SquadMetrics, NeedAQuestion) {
  EXPECT_REGARD_ERROR(squad_scores({}), ErrorKind::usage, "expected at least one question");
}

}  // namespace
}  // namespace regard::metrics
