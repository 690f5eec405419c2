#include "metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/counted.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

void check_lengths(std::size_t a, std::size_t b) {
  if (a != b || a == 0)
    throw usage_error("the numbers of predictions and of true values differ or are zero")
        .found(std::to_string(a) + " predictions, " + std::to_string(b) + " true values")
        .expected("equal numbers, at least 1");
}

void check_class(std::int32_t predicted, std::int32_t truth, std::int32_t classes) {
  if (predicted < 0 || predicted >= classes || truth < 0 || truth >= classes)
    throw usage_error("a class is outside the range")
        .found("predicted class " + std::to_string(predicted) + ", true class " + std::to_string(truth))
        .expected("classes from 0 to " + std::to_string(classes - 1));
}

// Check a multi-label table and return its number of rows.
std::size_t rows_of(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                    std::int32_t labels) {
  check_lengths(predicted.size(), truth.size());
  if (labels < 1 || truth.size() % static_cast<std::size_t>(labels) != 0)
    throw usage_error("the size of a table of labels is not a multiple of the number of labels")
        .found(counted(truth.size(), "value"))
        .expected("a multiple of " + std::to_string(labels) + " values");
  return truth.size() / static_cast<std::size_t>(labels);
}

ClassCounts zeros(std::int32_t classes) {
  ClassCounts counts;
  counts.predicted.resize(static_cast<std::size_t>(std::max(classes, 0)));
  counts.truth = counts.both = counts.predicted;
  return counts;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

PrecisionRecall from_counts(std::int64_t both, std::int64_t predicted, std::int64_t truth) {
  return {ratio(both, predicted), ratio(both, truth), ratio(2 * both, predicted + truth), truth};
}

std::int64_t total(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth) {
  check_lengths(predicted.size(), truth.size());
  std::size_t right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) right += predicted[i] == truth[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(truth.size());
}

ClassCounts count_classes(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                          std::int32_t classes) {
  check_lengths(predicted.size(), truth.size());
  ClassCounts counts = zeros(classes);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    check_class(predicted[i], truth[i], classes);
    ++counts.predicted[static_cast<std::size_t>(predicted[i])];
    ++counts.truth[static_cast<std::size_t>(truth[i])];
    if (predicted[i] == truth[i]) ++counts.both[static_cast<std::size_t>(truth[i])];
  }
  return counts;
}

ClassCounts count_labels(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                         std::int32_t labels) {
  rows_of(predicted, truth, labels);
  ClassCounts counts = zeros(labels);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::size_t label = i % static_cast<std::size_t>(labels);
    counts.predicted[label] += predicted[i] != 0 ? 1 : 0;
    counts.truth[label] += truth[i] != 0 ? 1 : 0;
    counts.both[label] += predicted[i] != 0 && truth[i] != 0 ? 1 : 0;
  }
  return counts;
}

std::vector<PrecisionRecall> by_class(const ClassCounts& counts) {
  std::vector<PrecisionRecall> classes;
  for (std::size_t c = 0; c < counts.both.size(); ++c)
    classes.push_back(from_counts(counts.both[c], counts.predicted[c], counts.truth[c]));
  return classes;
}

PrecisionRecall average(const ClassCounts& counts, Average how, Averaged classes) {
  if (how == Average::micro)
    return from_counts(total(counts.both), total(counts.predicted), total(counts.truth));
  PrecisionRecall mean;
  double weights = 0;
  for (std::size_t c = 0; c < counts.both.size(); ++c) {
    if (classes == Averaged::occurring && counts.predicted[c] + counts.truth[c] == 0) continue;
    const PrecisionRecall one = from_counts(counts.both[c], counts.predicted[c], counts.truth[c]);
    const double weight = how == Average::macro ? 1.0 : static_cast<double>(one.support);
    mean.precision += weight * one.precision;
    mean.recall += weight * one.recall;
    mean.f1 += weight * one.f1;
    mean.support += one.support;
    weights += weight;
  }
  if (weights == 0) return mean;
  mean.precision /= weights, mean.recall /= weights, mean.f1 /= weights;
  return mean;
}

PrecisionRecall precision_recall(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                                 std::int32_t classes, Average how, Averaged of) {
  return average(count_classes(predicted, truth, classes), how, of);
}

std::vector<std::int64_t> confusion_matrix(std::span<const std::int32_t> predicted,
                                           std::span<const std::int32_t> truth, std::int32_t classes) {
  check_lengths(predicted.size(), truth.size());
  const auto size = static_cast<std::size_t>(std::max(classes, 0));
  std::vector<std::int64_t> matrix(size * size);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    check_class(predicted[i], truth[i], classes);
    ++matrix[static_cast<std::size_t>(truth[i]) * size + static_cast<std::size_t>(predicted[i])];
  }
  return matrix;
}

double matthews(const ClassCounts& counts) {
  const auto samples = static_cast<double>(total(counts.truth));
  double right = 0, cross = 0, predicted_squares = 0, truth_squares = 0;
  for (std::size_t c = 0; c < counts.both.size(); ++c) {
    const auto predicted = static_cast<double>(counts.predicted[c]);
    const auto truth = static_cast<double>(counts.truth[c]);
    right += static_cast<double>(counts.both[c]);
    cross += predicted * truth;
    predicted_squares += predicted * predicted;
    truth_squares += truth * truth;
  }
  const double variances = (samples * samples - predicted_squares) * (samples * samples - truth_squares);
  return variances > 0 ? (right * samples - cross) / std::sqrt(variances) : 0;
}

double matthews(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                std::int32_t classes) {
  return matthews(count_classes(predicted, truth, classes));
}

double exact_rows(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                  std::int32_t labels) {
  const std::size_t rows = rows_of(predicted, truth, labels), width = truth.size() / rows;
  std::size_t right = 0;
  for (std::size_t row = 0; row < rows; ++row)
    right += std::equal(truth.begin() + static_cast<std::ptrdiff_t>(row * width),
                        truth.begin() + static_cast<std::ptrdiff_t>((row + 1) * width),
                        predicted.begin() + static_cast<std::ptrdiff_t>(row * width))
                 ? 1
                 : 0;
  return static_cast<double>(right) / static_cast<double>(rows);
}

}  // namespace regard::metrics
