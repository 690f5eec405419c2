// Evaluation metrics. Predictions and true values must have equal, non-zero length; otherwise the functions
// throw usage.
#pragma once

#include <cstdint>
#include <span>

namespace regard::train {

// exp(total_negative_log_likelihood / tokens), in nats; infinite on overflow.
double perplexity(double total_negative_log_likelihood, std::int64_t tokens);

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

// Linear correlation, and the correlation of ranks (equal values get their mean rank). NaN if either side is
// constant.
double pearson(std::span<const double> a, std::span<const double> b);
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace regard::train
