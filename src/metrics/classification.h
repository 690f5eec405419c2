// Metrics of classification as scikit-learn computes them. Predictions and true values must have equal,
// non-zero length; otherwise the functions throw usage.
#pragma once

#include <cstdint>
#include <span>

namespace regard::metrics {

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth);

// Classes are numbered 0 to classes - 1. A class that is never predicted has precision 0; a class that never
// occurs has recall 0. As scikit-learn with zero_division = 0 and `labels` = all classes.
enum class Average { macro, micro };  // macro: mean over classes; micro: over all predictions
struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
};
PrecisionRecall precision_recall(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                                 std::int32_t classes, Average average);
// Precision and recall of class `positive` against all others.
PrecisionRecall precision_recall_of(std::span<const std::int32_t> predicted,
                                    std::span<const std::int32_t> truth, std::int32_t positive);

// Matthews correlation coefficient for two or more classes (Gorodkin 2004); 0 if either side is constant.
double matthews(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                std::int32_t classes);

}  // namespace regard::metrics
