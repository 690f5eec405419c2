#include "metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "metrics/numpy_random.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

constexpr std::int64_t kBootstrapSamples = 1000, kRandomizationSamples = 10000;

std::int64_t samples_of(const ResamplingOptions& options, std::int64_t usual, std::size_t lines) {
  if (lines == 0) throw usage_error("resampling: expected at least one line, found none");
  if (options.samples < 0)
    throw usage_error("the number of samples is negative")
        .found(std::to_string(options.samples))
        .expected("0 (the default number) or more");
  return options.samples == 0 ? usual : options.samples;
}

// Return the 95 % interval that sacreBLEU's estimate_ci() computes: 1/40 of the scores are below it and 1/40
// are above it. Samples without a defined score (NaN) are left out.
Interval interval_of(std::vector<double> scores) {
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  std::erase_if(scores, [](double score) { return std::isnan(score); });
  if (scores.empty()) return {kUndefined, kUndefined, kUndefined, kUndefined};
  Interval interval;
  interval.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  std::sort(scores.begin(), scores.end());
  const std::size_t skipped = scores.size() / 40;
  interval.lower = scores[skipped];
  interval.upper = scores[scores.size() - skipped - 1];
  interval.half_width = 0.5 * (interval.upper - interval.lower);
  return interval;
}

void drop_undefined(std::vector<double>& differences) {
  std::erase_if(differences, [](double difference) { return !std::isfinite(difference); });
}

// Return (c + 1) / (n + 1), where c is the number of the n `differences` that exceed `real`. Return NaN if
// `real` is not finite or n is 0.
double p_value(const std::vector<double>& differences, double real) {
  if (!std::isfinite(real) || differences.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto larger =
      std::count_if(differences.begin(), differences.end(), [real](double value) { return value > real; });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

std::vector<std::uint32_t> all_rows(std::size_t lines, std::uint32_t first) {
  std::vector<std::uint32_t> rows(lines);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

Comparison compared(std::size_t lines, const Scorer& score) {
  return {score(all_rows(lines, 0)), score(all_rows(lines, static_cast<std::uint32_t>(lines))), 1};
}

}  // namespace

Scorer scorer_of_sums(std::vector<std::vector<float>> statistics,
                      std::function<double(std::span<const double> sums)> score) {
  const auto table = std::make_shared<const std::vector<std::vector<float>>>(std::move(statistics));
  return [table, score = std::move(score)](std::span<const std::uint32_t> rows) {
    std::vector<float> sums(table->empty() ? 0 : table->front().size());
    for (const std::uint32_t row : rows) {
      const std::vector<float>& values = (*table)[row];
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    }
    return score(std::vector<double>(sums.begin(), sums.end()));
  };
}

Scorer scorer_of_mean(std::vector<double> values) {
  return [values = std::move(values)](std::span<const std::uint32_t> rows) {
    double sum = 0;
    for (const std::uint32_t row : rows) sum += values[row];
    return sum / static_cast<double>(rows.size());
  };
}

Interval bootstrap(std::size_t lines, const Scorer& score, const ResamplingOptions& options) {
  const std::int64_t samples = samples_of(options, kBootstrapSamples, lines);
  NumpyRandom random(options.seed);
  std::vector<std::uint32_t> rows(lines);
  std::vector<double> scores;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::uint32_t& row : rows) row = random.below(static_cast<std::uint32_t>(lines));
    scores.push_back(score(rows));
  }
  return interval_of(std::move(scores));
}

BootstrapComparison paired_bootstrap(std::size_t lines, const Scorer& score,
                                     const ResamplingOptions& options) {
  const std::int64_t samples = samples_of(options, kBootstrapSamples, lines);
  NumpyRandom random(options.seed);
  std::vector<std::uint32_t> rows(lines), others(lines);
  std::vector<double> first, second, differences;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::size_t i = 0; i < lines; ++i) {
      rows[i] = random.below(static_cast<std::uint32_t>(lines));
      others[i] = rows[i] + static_cast<std::uint32_t>(lines);
    }
    first.push_back(score(rows));
    second.push_back(score(others));
    differences.push_back(std::abs(second.back() - first.back()));
  }
  drop_undefined(differences);
  const double mean =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(differences.size());
  for (double& difference : differences) difference -= mean;
  BootstrapComparison result;
  static_cast<Comparison&>(result) = compared(lines, score);
  result.p = p_value(differences, std::abs(result.first - result.second));
  result.first_interval = interval_of(std::move(first));
  result.second_interval = interval_of(std::move(second));
  return result;
}

Comparison approximate_randomization(std::size_t lines, const Scorer& score,
                                     const ResamplingOptions& options) {
  const std::int64_t samples = samples_of(options, kRandomizationSamples, lines);
  NumpyRandom random(options.seed);
  NumpyRandom::Bits bits;
  std::vector<std::uint32_t> rows(lines), others(lines);
  std::vector<double> differences;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::size_t i = 0; i < lines; ++i) {
      rows[i] = others[i] = static_cast<std::uint32_t>(i);
      (random.bit(bits) ? others : rows)[i] += static_cast<std::uint32_t>(lines);
    }
    differences.push_back(std::abs(score(rows) - score(others)));
  }
  drop_undefined(differences);
  Comparison result = compared(lines, score);
  result.p = p_value(differences, std::abs(result.first - result.second));
  return result;
}

}  // namespace regard::metrics
