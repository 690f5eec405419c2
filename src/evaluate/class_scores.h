// Metrics of classifiers of texts and of tokens, such as accuracy and F1. The functions append them to an
// Evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "metrics/classification.h"

namespace regard::evaluate {

// Return the class index of `label`, which is a name in `labels` or, if no name in `labels` is a number, a
// class index. Throws invalid_input for any other label.
std::int32_t class_named(const std::string& label, std::span<const std::string> labels);

// Set result.labels to the sorted labels, and return the place of each label in this list. Models that have
// the same labels in different orders can then be compared.
std::vector<std::size_t> sort_labels(std::span<const std::string> labels, Evaluation& result);

Json to_json(const metrics::PrecisionRecall& scores);

// Append accuracy, F1 (macro, weighted, micro), Matthews' coefficient, the scores per class and, up to
// metrics::kLargestConfusionMatrix classes, the confusion matrix. Confidence intervals resample rows. `sizes`
// [rows]: number of predictions of each row; if empty, each prediction is a row.
void add_class_scores(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                      std::span<const std::string> labels, Evaluation& result,
                      std::span<const std::size_t> sizes = {});

// Append a table to result.lines: the name, precision, recall, F1 and support of each class.
void add_class_lines(std::span<const std::string> names, std::span<const metrics::PrecisionRecall> classes,
                     Evaluation& result);

// Append the Spearman and Pearson correlations and, if `squared` is set, the mean squared error.
void add_correlations(std::span<const double> predicted, std::span<const double> truth, bool squared,
                      Evaluation& result);

}  // namespace regard::evaluate
