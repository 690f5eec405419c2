// Confidence intervals of an evaluation's scores, and the comparison of two models on the same data.
#pragma once

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Return the 95 % confidence interval of every score that can be resampled, by bootstrap: {name: {"mean",
// "lower", "upper"}}.
Json intervals(const Evaluation& evaluation, const metrics::ResamplingOptions& options);

enum class SignificanceTest { bootstrap, randomization };  // paired bootstrap, or approximate randomisation

struct ComparedScore {
  std::string name;
  metrics::Comparison comparison;  // scores of both models, and the p value
};
struct DifferentRow {
  std::size_t row = 0;  // index of the row, the same in both evaluations
  double change = 0;    // score in `second` minus score in `first`; NaN if rows have no scores
};
struct ModelComparison {
  std::vector<ComparedScore> scores;
  // Rows with different outputs, sorted by |DifferentRow::change|, largest first, and NaN last. Rows with
  // equal changes are in the order of the data.
  std::vector<DifferentRow> rows;
};
// Compare the scores of two models on the same rows by a significance test. Throws usage if the evaluations
// differ in task, number of rows or set of labels.
ModelComparison compare(const Evaluation& first, const Evaluation& second, SignificanceTest test,
                        const metrics::ResamplingOptions& options);

}  // namespace regard::evaluate
