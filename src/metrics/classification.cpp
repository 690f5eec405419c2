#include "metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::metrics {
namespace {

void check_lengths(std::size_t a, std::size_t b) {
  if (a != b || a == 0)
    throw usage_error("a metric needs equally many predictions and truths, and at least one")
        .found(std::to_string(a) + " and " + std::to_string(b));
}

// How often each class was predicted, was true, and was predicted correctly.
struct ClassCounts {
  std::vector<double> predicted, truth, both;  // [classes]
};

ClassCounts count_classes(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                          std::int32_t classes) {
  check_lengths(predicted.size(), truth.size());
  ClassCounts counts;
  counts.predicted.resize(static_cast<std::size_t>(std::max(classes, 0)));
  counts.truth = counts.both = counts.predicted;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i] < 0 || predicted[i] >= classes || truth[i] < 0 || truth[i] >= classes)
      throw usage_error("a class is outside the range")
          .found(std::to_string(predicted[i]) + " and " + std::to_string(truth[i]))
          .expected("0 to " + std::to_string(classes - 1));
    ++counts.predicted[static_cast<std::size_t>(predicted[i])];
    ++counts.truth[static_cast<std::size_t>(truth[i])];
    if (predicted[i] == truth[i]) ++counts.both[static_cast<std::size_t>(truth[i])];
  }
  return counts;
}

double ratio(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

PrecisionRecall from_counts(double both, double predicted, double truth) {
  return {ratio(both, predicted), ratio(both, truth), ratio(2 * both, predicted + truth)};
}

}  // namespace

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth) {
  check_lengths(predicted.size(), truth.size());
  std::size_t right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) right += predicted[i] == truth[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(truth.size());
}

PrecisionRecall precision_recall(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                                 std::int32_t classes, Average average) {
  const ClassCounts counts = count_classes(predicted, truth, classes);
  if (average == Average::micro) {
    const auto total = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    return from_counts(total(counts.both), total(counts.predicted), total(counts.truth));
  }
  PrecisionRecall mean;
  for (std::size_t c = 0; c < counts.both.size(); ++c) {
    const PrecisionRecall one = from_counts(counts.both[c], counts.predicted[c], counts.truth[c]);
    mean.precision += one.precision / classes;
    mean.recall += one.recall / classes;
    mean.f1 += one.f1 / classes;
  }
  return mean;
}

PrecisionRecall precision_recall_of(std::span<const std::int32_t> predicted,
                                    std::span<const std::int32_t> truth, std::int32_t positive) {
  check_lengths(predicted.size(), truth.size());
  const auto count = [positive](std::span<const std::int32_t> values) {
    return static_cast<double>(std::count(values.begin(), values.end(), positive));
  };
  double both = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
    both += predicted[i] == positive && truth[i] == positive ? 1 : 0;
  return from_counts(both, count(predicted), count(truth));
}

double matthews(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                std::int32_t classes) {
  const ClassCounts counts = count_classes(predicted, truth, classes);
  const auto samples = static_cast<double>(truth.size());
  double right = 0, cross = 0, predicted_squares = 0, truth_squares = 0;
  for (std::size_t c = 0; c < counts.both.size(); ++c) {
    right += counts.both[c];
    cross += counts.predicted[c] * counts.truth[c];
    predicted_squares += counts.predicted[c] * counts.predicted[c];
    truth_squares += counts.truth[c] * counts.truth[c];
  }
  const double variances = (samples * samples - predicted_squares) * (samples * samples - truth_squares);
  return variances > 0 ? (right * samples - cross) / std::sqrt(variances) : 0;
}

}  // namespace regard::metrics
