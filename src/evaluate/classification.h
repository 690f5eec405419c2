// Evaluates classifiers of texts and text pairs: one label, several labels, or a number (regression).
#pragma once

#include <optional>

#include "evaluate/evaluation.h"
#include "tasks/classify.h"

namespace regard::evaluate {

struct ClassificationOptions {
  // softmax: one label; sigmoid: several labels; plain: a number. Default: as the model's config.json
  // specifies.
  std::optional<tasks::Scores> scores;
  // with several labels per row, a label is predicted if its probability is at least this
  double threshold = 0.5;
  bool cut = false;              // truncate texts that are too long for the model
  std::int64_t most_tokens = 0;  // maximum tokens of a text; 0 means the model's maximum
};

// Evaluate a classifier of texts or of pairs of texts. Throws invalid_input with file and line for an unknown
// label or a text that is too long.
//   Data: a table with the columns text and label, or text, text_pair and label.
//   Label: the name or the number of a class; for several labels, a list, separated by spaces in TSV and CSV;
//     for a regression, a number.
//   Metrics for one label: accuracy, F1 (micro, macro, weighted, per class), Matthews' coefficient and the
//     confusion matrix.
//   Metrics for several labels: F1, and the fraction of rows whose labels are all correct.
//   Metrics for a regression: the Pearson and Spearman correlations and the mean squared error.
Evaluation classification(const Subject& subject, const DataOptions& data,
                          const ClassificationOptions& options);

}  // namespace regard::evaluate
