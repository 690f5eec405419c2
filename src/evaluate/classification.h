// Classification of texts and pairs: one label, several labels, or a number (regression).
#pragma once

#include <optional>

#include "evaluate/evaluation.h"
#include "tasks/classify.h"

namespace regard::evaluate {

struct ClassificationOptions {
  std::optional<tasks::Scores>
      scores;              // softmax: one label; sigmoid: several; plain: a number. Default: the folder's
  double threshold = 0.5;  // several labels: least probability of a label
  bool cut = false;        // cut texts that are too long for the model
  std::int64_t most_tokens = 0;  // of a text; 0: the model's maximum
};

// Data: a table with the columns text, label, or text, text_pair, label. A label is a name of the model's
// labels or the number of a class; several labels are a list, in TSV and CSV separated by spaces; of a
// regression, a number. Accuracy, F1 (micro, macro, weighted, per class), Matthews' coefficient and the
// confusion matrix; of several labels, F1 and the share of rows with all labels right; of regression,
// Pearson, Spearman and the mean squared error. Throws invalid_input with file and line for an unknown label
// or a text that is too long.
Evaluation classification(const Subject& subject, const DataOptions& data,
                          const ClassificationOptions& options);

}  // namespace regard::evaluate
