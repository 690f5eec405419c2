// Metrics of classification as scikit-learn computes them with zero_division = 0. Classes are numbered 0 to
// classes - 1. The functions throw usage if the number of predictions differs from the number of true values,
// if there are none, or if a class is out of range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace regard::metrics {

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth);

// Number of times that each class (or label, in multi-label classification) was predicted, was true, and was
// predicted correctly.
struct ClassCounts {
  std::vector<std::int64_t> predicted, truth, both;  // [classes]
};
ClassCounts count_classes(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                          std::int32_t classes);
// Count the labels of multi-label data. `predicted` and `truth` are [rows, labels], with elements 0 or 1.
ClassCounts count_labels(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                         std::int32_t labels);

struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;  // a value is 0 if its denominator is 0
  std::int64_t support = 0;                  // number of occurrences among the true values
};
std::vector<PrecisionRecall> by_class(const ClassCounts& counts);

// micro: from the counts of all classes; macro: mean over classes; weighted: mean weighted by support.
enum class Average { micro, macro, weighted };
// Classes over which a mean is computed. `occurring` (default, as in scikit-learn): the classes that were
// predicted or are true. `all`: all classes.
enum class Averaged { occurring, all };
PrecisionRecall average(const ClassCounts& counts, Average how, Averaged classes = Averaged::occurring);
PrecisionRecall precision_recall(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                                 std::int32_t classes, Average how, Averaged of = Averaged::occurring);

// Maximum number of classes for which a report contains the confusion matrix.
inline constexpr std::size_t kLargestConfusionMatrix = 50;
// Return [classes, classes]: the number of rows for each true class (row) and predicted class (column).
std::vector<std::int64_t> confusion_matrix(std::span<const std::int32_t> predicted,
                                           std::span<const std::int32_t> truth, std::int32_t classes);

// Matthews correlation coefficient for two or more classes (Gorodkin 2004); 0 if all predictions or all true
// values are equal.
double matthews(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                std::int32_t classes);
double matthews(const ClassCounts& counts);

// Return the fraction of rows with all labels correct (scikit-learn's accuracy_score for multi-label data).
double exact_rows(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                  std::int32_t labels);

}  // namespace regard::metrics
