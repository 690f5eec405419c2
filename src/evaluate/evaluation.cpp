#include "evaluate/evaluation.h"

#include <algorithm>

namespace regard::evaluate {
namespace {

std::string counts_of(const std::vector<std::vector<std::string>>& usual) {
  std::string text;
  for (const auto& columns : usual)
    text += fmt::format("{}{} ({})", text.empty() ? "" : " or ", columns.size(), fmt::join(columns, ", "));
  return text;
}

}  // namespace

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

data::TableReader open_table(const DataOptions& data, const std::vector<std::vector<std::string>>& usual) {
  data::TableOptions options;
  options.files = data.files;
  options.format = data::format_of(data.files.at(0), data::TableFormat::lines);
  options.columns = data.columns;
  options.blank = data::Faulty::skip;
  if (data.header) options.header = data::Header::present;
  const bool aligned = options.format == data::TableFormat::lines;
  if (aligned && !data.columns.empty())
    throw usage_error("line-aligned files have no columns")
        .remedy("Remove --columns, or give a .tsv, .csv or .jsonl file");
  if (options.columns.empty() && options.format == data::TableFormat::jsonl) options.columns = usual[0];
  if (options.columns.empty() && !aligned)
    for (std::size_t i = 1; i <= usual[0].size(); ++i) options.columns.push_back(std::to_string(i));
  const std::size_t count = aligned ? data.files.size() : options.columns.size();
  if (std::none_of(usual.begin(), usual.end(), [count](const auto& one) { return one.size() == count; }))
    throw usage_error(aligned ? "the number of line-aligned files does not fit the task"
                              : "the number of columns does not fit the task")
        .found(std::to_string(count))
        .expected(counts_of(usual));
  return data::TableReader(std::move(options));
}

Error nothing_to_evaluate(const DataOptions& data) {
  return file_error(data.files.at(0), "there is nothing to evaluate on");
}

}  // namespace regard::evaluate
