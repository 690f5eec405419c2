#include "evaluate/comparison.h"

#include <algorithm>
#include <cmath>

namespace regard::evaluate {

Json intervals(const Evaluation& evaluation, const metrics::ResamplingOptions& options) {
  Json all = Json::object();
  for (const Score& score : evaluation.scores) {
    if (!score.statistics.scorer) continue;
    const std::size_t rows = score.statistics.rows.size();
    const metrics::Interval interval =
        metrics::bootstrap(rows, score.statistics.scorer(score.statistics.rows), options);
    all[score.name] = {{"mean", interval.mean}, {"lower", interval.lower}, {"upper", interval.upper}};
  }
  return all;
}

ModelComparison compare(const Evaluation& first, const Evaluation& second, SignificanceTest test,
                        const metrics::ResamplingOptions& options) {
  if (first.task != second.task || first.rows.size() != second.rows.size())
    throw usage_error("the models were evaluated on different tasks or rows")
        .found(fmt::format("{} rows of the task {}, and {} rows of the task {}", first.rows.size(),
                           first.task, second.rows.size(), second.task))
        .expected("the same task and the same number of rows");
  if (first.labels != second.labels) {
    const auto [a, b] =
        std::mismatch(first.labels.begin(), first.labels.end(), second.labels.begin(), second.labels.end());
    const bool in_first = b == second.labels.end() || (a != first.labels.end() && *a < *b);
    throw usage_error("the models have different labels")
        .found(fmt::format("\"{}\" in only one of them", in_first ? *a : *b))
        .expected("the same labels in both models");
  }
  ModelComparison result;
  for (std::size_t i = 0; i < std::min(first.scores.size(), second.scores.size()); ++i) {
    const RowStatistics& statistics = first.scores[i].statistics;
    if (!statistics.scorer || first.scores[i].name != second.scores[i].name) continue;
    Table rows = statistics.rows;
    rows.insert(rows.end(), second.scores[i].statistics.rows.begin(), second.scores[i].statistics.rows.end());
    const std::size_t lines = statistics.rows.size();
    const metrics::Scorer scorer = statistics.scorer(std::move(rows));
    const double p = test == SignificanceTest::bootstrap
                         ? metrics::paired_bootstrap(lines, scorer, options).p
                         : metrics::approximate_randomization(lines, scorer, options).p;
    const metrics::Comparison comparison{first.scores[i].value, second.scores[i].value, p};
    result.scores.push_back({first.scores[i].name, comparison});
  }
  for (std::size_t i = 0; i < first.rows.size(); ++i)
    if (first.rows[i].output != second.rows[i].output)
      result.rows.push_back({i, second.rows[i].score - first.rows[i].score});
  const auto size = [](const DifferentRow& row) {
    return std::isnan(row.change) ? -1.0 : std::abs(row.change);
  };
  std::stable_sort(result.rows.begin(), result.rows.end(),
                   [&](const DifferentRow& a, const DifferentRow& b) { return size(a) > size(b); });
  return result;
}

}  // namespace regard::evaluate
