// Confidence intervals of an evaluation's scores, and the comparison of two models on the same data.
#pragma once

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// The 95 % interval of every score that can be resampled, by bootstrap: {name: {"mean", "lower", "upper"}}.
Json intervals(const Evaluation& evaluation, const metrics::ResamplingOptions& options);

enum class SignificanceTest { bootstrap, randomization };  // paired bootstrap, approximate randomisation

struct ComparedScore {
  std::string name;
  metrics::Comparison comparison;  // first, second, p
};
struct DifferentRow {
  std::size_t row = 0;  // in both evaluations
  double change = 0;    // of the row's score, second − first; NaN without scores of rows
};
struct ModelComparison {
  std::vector<ComparedScore> scores;
  // Rows whose outputs differ: without scores of rows in order, else those with the largest change first.
  std::vector<DifferentRow> rows;
};
// Throws usage if the evaluations are not of the same task and rows.
ModelComparison compare(const Evaluation& first, const Evaluation& second, SignificanceTest test,
                        const metrics::ResamplingOptions& options);

}  // namespace regard::evaluate
