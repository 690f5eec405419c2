// Small figures of merit. All take predictions and truths of equal, non-zero length and throw usage
// otherwise.
#pragma once

#include <cstdint>
#include <span>

namespace regard::train {

// exp(mean negative log-likelihood in nats over `tokens`); infinite where that overflows.
double perplexity(double total_negative_log_likelihood, std::int64_t tokens);

double accuracy(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth);

// Classes are the numbers 0 to classes - 1. A class that is never predicted has precision 0, one that never
// occurs recall 0 (as scikit-learn with zero_division = 0; its `labels` are here always all classes).
enum class Average { macro, micro };  // mean over classes; all decisions counted together
struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
};
PrecisionRecall precision_recall(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                                 std::int32_t classes, Average average);
// Of one class against all others.
PrecisionRecall precision_recall_of(std::span<const std::int32_t> predicted,
                                    std::span<const std::int32_t> truth, std::int32_t positive);

// Matthews correlation coefficient for two or more classes (Gorodkin 2004); 0 if either side is constant.
double matthews(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                std::int32_t classes);

// Linear correlation, and that of ranks with equal values sharing their mean rank. NaN if a side is constant.
double pearson(std::span<const double> a, std::span<const double> b);
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace regard::train
