// Bootstrap intervals, paired bootstrap and approximate randomisation compared with sacreBLEU, whose random
// numbers (NumPy's) are reproduced (tools/make_metric_cases.py).
#include "metrics/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/correlation.h"
#include "metrics/metric_text.h"
#include "metrics/numpy_random.h"
#include "metrics/ter.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

// The draws equal numpy.random.default_rng(seed).choice(count, size) and .integers(2, size, dtype=bool).
TEST(NumpyRandom, DrawsNumpysNumbers) {
  NumpyRandom choices(12345);
  for (const std::uint32_t expected : {699u, 227u, 788u, 316u, 204u, 797u, 642u, 676u, 988u, 391u})
    EXPECT_EQ(choices.below(1000), expected);
  NumpyRandom large(7);  // for this range, some draws are rejected and repeated
  for (const std::uint32_t expected : {2834714867u, 2052539810u, 2691641402u, 1734877356u, 2327057070u})
    EXPECT_EQ(large.below(3000000000u), expected);
  NumpyRandom coin(12345);
  NumpyRandom::Bits bits;
  std::string drawn;
  for (int i = 0; i < 70; ++i) drawn += coin.bit(bits) ? '1' : '0';
  EXPECT_EQ(drawn, "1011100110000011111111110100110110110001100011010100110001011100011110");
}

using Statistics = std::function<std::vector<float>(const std::string&, std::span<const std::string>)>;

Scorer scorer_of(const Json& one, const Statistics& statistics,
                 const std::function<double(std::span<const double>)>& score) {
  const auto references = one["references"].get<std::vector<std::vector<std::string>>>();
  std::vector<std::vector<float>> table;
  for (const char* system : {"first", "second"}) {
    const auto outputs = one[system].get<std::vector<std::string>>();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      table.push_back(statistics(outputs[i], line_of(references, i)));
  }
  return scorer_of_sums(std::move(table), score);
}

// sacreBLEU computes scores of samples in f32.
constexpr double kSignificanceTolerance = 1e-6;

void expect_interval(const Interval& interval, const Json& golden) {
  EXPECT_NEAR(interval.mean, golden[0].get<double>(), 100 * kSignificanceTolerance);
  EXPECT_NEAR(interval.half_width, golden[1].get<double>(), 100 * kSignificanceTolerance);
  EXPECT_LE(interval.lower, interval.mean + kSignificanceTolerance);
  EXPECT_GE(interval.upper, interval.mean - kSignificanceTolerance);
}

void expect_comparison(const Comparison& comparison, const Json& golden) {
  EXPECT_NEAR(comparison.first, golden["scores"][0].get<double>(), kSignificanceTolerance);
  EXPECT_NEAR(comparison.second, golden["scores"][1].get<double>(), kSignificanceTolerance);
  EXPECT_NEAR(comparison.p, golden["p"].get<double>(), 1e-12);
}

TEST(Significance, EqualsSacreBleus) {
  const Json golden = read_json(testing::golden("metrics/significance.json"));
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const Json& one : golden["cases"]) {
    const std::size_t lines = one["first"].size();
    const std::pair<const char*, Scorer> scorers[] = {
        {"bleu", scorer_of(
                     one, [](const auto& text, auto references) { return bleu_statistics(text, references); },
                     [](std::span<const double> sums) { return bleu_of(sums); })},
        {"chrf", scorer_of(
                     one, [](const auto& text, auto references) { return chrf_statistics(text, references); },
                     [](std::span<const double> sums) { return chrf_of(sums); })},
        {"ter", scorer_of(
                    one, [](const auto& text, auto references) { return ter_statistics(text, references); },
                    [](std::span<const double> sums) { return ter_of(sums); })}};
    for (const auto& [name, scorer] : scorers) {
      SCOPED_TRACE(std::to_string(lines) + " lines, " + name);
      const Json& expected = one["scores"][name];
      expect_interval(bootstrap(lines, scorer), expected["interval"]);
      const BootstrapComparison paired = paired_bootstrap(lines, scorer);
      expect_comparison(paired, expected["bs"]);
      expect_interval(paired.first_interval, expected["interval"]);
      expect_interval(paired.second_interval, expected["bs"]["interval"]);
      expect_comparison(approximate_randomization(lines, scorer, {.samples = 1000}), expected["ar"]);
    }
  }
}

TEST(Significance, MeansAreScored) {
  const Scorer scorer = scorer_of_mean({1, 2, 3, 5, 6, 7});
  const BootstrapComparison paired = paired_bootstrap(3, scorer, {.samples = 50, .seed = 3});
  EXPECT_EQ(paired.first, 2);
  EXPECT_EQ(paired.second, 6);
  // The difference of every sample is 4, so none exceeds the mean difference by 4.
  EXPECT_DOUBLE_EQ(paired.p, 1.0 / 51);
  EXPECT_GE(paired.first_interval.lower, 1);
  EXPECT_LE(paired.first_interval.upper, 3);
}

// Return a scorer whose scores are 0, 1, 2 and so on, in the order of its calls.
Scorer counting_scorer(double& calls) {
  return [&calls](std::span<const std::uint32_t>) { return calls++; };
}

// 1/40 of the scores are below the interval, and 1/40 above it.
TEST(Significance, IntervalsLeaveOutTheLowestAndHighestScores) {
  const auto expect = [](std::int64_t samples, double mean, double lower, double upper) {
    double calls = 0;
    const Interval interval = bootstrap(2, counting_scorer(calls), {.samples = samples});
    EXPECT_EQ(interval.mean, mean);
    EXPECT_EQ(interval.lower, lower);
    EXPECT_EQ(interval.upper, upper);
    EXPECT_EQ(interval.half_width, (upper - lower) / 2);
  };
  expect(1, 0, 0, 0);
  expect(39, 19, 0, 38);
  expect(40, 19.5, 1, 38);
  expect(80, 39.5, 2, 77);
}

// In addition to the samples, each comparison scores both systems once on all lines.
TEST(Significance, NumberOfSamplesByDefault) {
  double calls = 0;
  const Scorer scorer = counting_scorer(calls);
  const auto calls_of = [&](const auto& resample) {
    calls = 0;
    resample();
    return calls;
  };
  EXPECT_EQ(calls_of([&] { bootstrap(1, scorer); }), 1000);
  EXPECT_EQ(calls_of([&] { paired_bootstrap(1, scorer); }), 2 * 1000 + 2);
  EXPECT_EQ(calls_of([&] { approximate_randomization(1, scorer); }), 2 * 10000 + 2);
  EXPECT_EQ(calls_of([&] { approximate_randomization(1, scorer, {.samples = 1}); }), 2 * 1 + 2);
}

// With one line, the absolute difference of every sample equals the observed one, so no sample exceeds it.
TEST(Significance, EqualDifferencesDoNotExceedTheReal) {
  const Scorer scorer = scorer_of_mean({1, 3});
  const Comparison exchanged = approximate_randomization(1, scorer, {.samples = 9});
  EXPECT_EQ(exchanged.first, 1);
  EXPECT_EQ(exchanged.second, 3);
  EXPECT_DOUBLE_EQ(exchanged.p, 0.1);
}

// A sample of equal values has no correlation. It must neither be sorted with the other scores nor count as a
// sample with a small difference.
TEST(Significance, SamplesWithoutAScoreAreLeftOut) {
  const std::vector<double> x{1, 2, 3, 2, 1, 3}, y{1, 2, 3, 1, 2, 3};
  const Scorer scorer = [&](std::span<const std::uint32_t> rows) {
    std::vector<double> some_x, some_y;
    for (const std::uint32_t row : rows) some_x.push_back(x[row]), some_y.push_back(y[row]);
    return pearson(some_x, some_y);
  };
  const Interval interval = bootstrap(3, scorer, {.samples = 100});
  EXPECT_NEAR(interval.mean, 1, 1e-12);
  EXPECT_NEAR(interval.lower, 1, 1e-12);
  EXPECT_NEAR(interval.upper, 1, 1e-12);
  const BootstrapComparison paired = paired_bootstrap(3, scorer, {.samples = 100});
  EXPECT_NEAR(paired.second, 0.5, 1e-12);
  EXPECT_GT(paired.p, 0.2);
  const Scorer undefined = [](std::span<const std::uint32_t>) {
    return std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_TRUE(std::isnan(bootstrap(3, undefined, {.samples = 10}).mean));
  EXPECT_TRUE(std::isnan(paired_bootstrap(3, undefined, {.samples = 10}).p));
  EXPECT_TRUE(std::isnan(approximate_randomization(3, undefined, {.samples = 10}).p));
}

// The score is defined only for all 20 lines of one system in order, which no sample draws.
TEST(Significance, PIsUndefinedIfNoSampleHasAScore) {
  const Scorer scorer = [](std::span<const std::uint32_t> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] != rows[0] + i) return std::numeric_limits<double>::quiet_NaN();
    return rows[0] == 0 ? 1.0 : 2.0;
  };
  const BootstrapComparison paired = paired_bootstrap(20, scorer, {.samples = 10});
  const Comparison exchanged = approximate_randomization(20, scorer, {.samples = 10});
  EXPECT_EQ(paired.second - paired.first, 1);
  EXPECT_EQ(exchanged.second - exchanged.first, 1);
  EXPECT_TRUE(std::isnan(paired.p));
  EXPECT_TRUE(std::isnan(exchanged.p));
}

TEST(Significance, NeedsLines) {
  const Scorer scorer = scorer_of_mean({});
  testing::expect_error_text(ErrorKind::usage, "resampling: expected at least one line, found none",
                             [&] { bootstrap(0, scorer); });
  testing::expect_error_text(
      ErrorKind::usage,
      "the number of samples is negative (expected 0 (the default number) or more, found -1)",
      [&] { paired_bootstrap(1, scorer, {.samples = -1}); });
}

}  // namespace
}  // namespace regard::metrics
