// Classification metrics compared with scikit-learn, correlation with scipy (tools/make_metric_cases.py).
#include "metrics/classification.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "metrics/correlation.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

constexpr double kTolerance = 1e-12;

void expect_scores(const PrecisionRecall& scores, const Json& golden) {
  EXPECT_NEAR(scores.precision, golden[0].get<double>(), kTolerance);
  EXPECT_NEAR(scores.recall, golden[1].get<double>(), kTolerance);
  EXPECT_NEAR(scores.f1, golden[2].get<double>(), kTolerance);
}

void expect_averages(const ClassCounts& counts, const Json& golden, Averaged classes) {
  expect_scores(average(counts, Average::micro, classes), golden["micro"]);
  expect_scores(average(counts, Average::macro, classes), golden["macro"]);
  expect_scores(average(counts, Average::weighted, classes), golden["weighted"]);
}

void expect_classes(const ClassCounts& counts, const Json& golden) {
  const std::vector<PrecisionRecall> classes = by_class(counts);
  ASSERT_EQ(classes.size(), golden.size());
  for (std::size_t c = 0; c < classes.size(); ++c) {
    expect_scores(classes[c], golden[c]);
    EXPECT_EQ(static_cast<double>(classes[c].support), golden[c][3].get<double>());
  }
}

TEST(ClassificationMetrics, EqualScikitLearns) {
  const Json golden = read_json(testing::golden("metrics/classification.json"));
  int single = 0, multiple = 0;
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["truth"].dump());
    if (one.contains("classes")) {
      ++single;
      const auto truth = one["truth"].get<std::vector<std::int32_t>>();
      const auto predicted = one["predicted"].get<std::vector<std::int32_t>>();
      const auto classes = one["classes"].get<std::int32_t>();
      EXPECT_NEAR(accuracy(predicted, truth), one["accuracy"].get<double>(), kTolerance);
      EXPECT_NEAR(matthews(predicted, truth, classes), one["matthews"].get<double>(), kTolerance);
      EXPECT_EQ(confusion_matrix(predicted, truth, classes),
                one["confusion"].get<std::vector<std::int64_t>>());
      const ClassCounts counts = count_classes(predicted, truth, classes);
      expect_classes(counts, one["by_class"]);
      expect_averages(counts, one["occurring"], Averaged::occurring);
      expect_averages(counts, one["all"], Averaged::all);
    } else {
      ++multiple;
      const auto truth = one["truth"].get<std::vector<std::uint8_t>>();
      const auto predicted = one["predicted"].get<std::vector<std::uint8_t>>();
      const auto labels = one["labels"].get<std::int32_t>();
      EXPECT_NEAR(exact_rows(predicted, truth, labels), one["accuracy"].get<double>(), kTolerance);
      const ClassCounts counts = count_labels(predicted, truth, labels);
      expect_classes(counts, one["by_class"]);
      expect_averages(counts, one["all"], Averaged::all);
    }
  }
  EXPECT_EQ(single, 7);
  EXPECT_EQ(multiple, 3);
}

// The values after the four in the spans are equal, and must not be compared.
TEST(ClassificationMetrics, ExactRowsAreThoseOfTheTable) {
  const std::vector<std::uint8_t> predicted{1, 0, 0, 1, 1, 1}, truth{1, 0, 1, 1, 1, 1};
  EXPECT_EQ(exact_rows(std::span(predicted).first(4), std::span(truth).first(4), 2), 0.5);
  EXPECT_EQ(exact_rows(predicted, truth, 2), 2.0 / 3);
  EXPECT_EQ(exact_rows(predicted, truth, 3), 0.5);
}

TEST(ClassificationMetrics, RefuseTablesOfOtherWidths) {
  const std::vector<std::uint8_t> table{1, 0, 1};
  EXPECT_REGARD_ERROR(count_labels(table, table, 2), ErrorKind::usage, "a multiple of 2");
  EXPECT_REGARD_ERROR(exact_rows(table, table, 0), ErrorKind::usage, "number of labels");
  const std::vector<std::int32_t> classes{0, 3};
  EXPECT_REGARD_ERROR(confusion_matrix(classes, classes, 3), ErrorKind::usage, "0 to 2");
}

TEST(Correlation, EqualsScipys) {
  const Json golden = read_json(testing::golden("metrics/correlation.json"));
  ASSERT_EQ(golden["cases"].size(), 5u);
  for (const Json& one : golden["cases"]) {
    const auto x = one["x"].get<std::vector<double>>(), y = one["y"].get<std::vector<double>>();
    EXPECT_NEAR(pearson(x, y), one["pearson"].get<double>(), kTolerance);
    EXPECT_NEAR(spearman(x, y), one["spearman"].get<double>(), kTolerance);
  }
}

}  // namespace
}  // namespace regard::metrics
