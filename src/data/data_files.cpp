#include "data/data_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "regard/error.h"

namespace regard::data {
namespace {

std::string counts_of(const std::vector<std::vector<std::string>>& usual) {
  std::string text;
  for (const auto& columns : usual)
    text += fmt::format("{}{} ({})", text.empty() ? "" : " or ", columns.size(), fmt::join(columns, ", "));
  return text;
}

// Return the format of the files. Throws usage if they have different formats.
TableFormat common_format(const std::vector<std::string>& files) {
  const TableFormat format = format_of(files.at(0), TableFormat::lines);
  for (const std::string& file : files)
    if (const TableFormat other = format_of(file, TableFormat::lines); other != format)
      throw usage_error("the data files have different formats")
          .found(fmt::format("{} as {}", file, format_name(other)))
          .expected(fmt::format("{}, as for {}", format_name(format), files[0]))
          .remedy(
              "The format follows from the file name (.tsv, .csv, .jsonl). Convert the files to one format");
  return format;
}

}  // namespace

TableOptions table_options(const DataFiles& data) {
  TableOptions options;
  options.files = data.files;
  options.format = common_format(data.files);
  options.columns = data.columns;
  options.blank = Faulty::skip;
  if (data.header) options.header = Header::present;
  return options;
}

void check_columns(const TableOptions& options) {
  if (options.format == TableFormat::lines && !options.columns.empty())
    throw usage_error("line-aligned files have no columns")
        .remedy("Remove --columns, or give a .tsv, .csv or .jsonl file");
}

TableReader open_table(const DataFiles& data, const std::vector<std::vector<std::string>>& usual) {
  TableOptions options = table_options(data);
  check_columns(options);
  const bool aligned = options.format == TableFormat::lines;
  if (options.columns.empty() && options.format == TableFormat::jsonl) options.columns = usual[0];
  if (options.columns.empty() && !aligned)
    for (std::size_t i = 1; i <= usual[0].size(); ++i) options.columns.push_back(std::to_string(i));
  const std::size_t count = aligned ? data.files.size() : options.columns.size();
  if (std::none_of(usual.begin(), usual.end(), [count](const auto& one) { return one.size() == count; }))
    throw usage_error(aligned ? "the number of line-aligned files does not fit the task"
                              : "the number of columns does not fit the task")
        .found(std::to_string(count))
        .expected(counts_of(usual));
  return TableReader(std::move(options));
}

}  // namespace regard::data
