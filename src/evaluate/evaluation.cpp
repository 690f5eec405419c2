#include "evaluate/evaluation.h"

namespace regard::evaluate {

RowStatistics sums(Table rows, std::function<double(std::span<const double>)> score) {
  return {std::move(rows), [score = std::move(score)](Table table) {
            return metrics::scorer_of_sums(std::move(table), score);
          }};
}

RowStatistics mean(Table rows, double factor) {
  return {std::move(rows), [factor](Table table) {
            std::vector<double> values;
            for (const std::vector<float>& row : table)
              values.push_back(factor * static_cast<double>(row[0]));
            return metrics::scorer_of_mean(std::move(values));
          }};
}

infer::SearchOptions Subject::search() const {
  infer::SearchOptions options = model.options;
  options.probe = probe;
  return options;
}

Error nothing_to_evaluate(const DataOptions& data) {
  return file_error(data.files.at(0), "the data has no rows to evaluate")
      .expected("at least one row that is not empty");
}

}  // namespace regard::evaluate
