// Options that name the data files of a task, and functions that open these files as tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table.h"

namespace regard::data {

struct DataFiles {
  std::vector<std::string> files;
  std::vector<std::string> columns{};
  bool header = false;       // tsv, csv: the first line is a header; implied if columns are given by name
  std::int64_t highest = 0;  // maximum pixel value in tables of pixels; 0 means tables of paths
};

// Return table options with the files, columns and header of `data`. Empty lines are skipped. Throws usage if
// the files have different formats.
TableOptions table_options(const DataFiles& data);

// Throw usage if the options name columns of line-aligned files, which have none.
void check_columns(const TableOptions& options);

// Open the table of a task. Each list in `usual` names the columns of one accepted form of the table.
// Default columns: for jsonl, the names in usual[0]; for other tables, the first usual[0].size() columns.
// Throws usage if the number of columns (or of line-aligned files) is not the length of a list in `usual`.
TableReader open_table(const DataFiles& data, const std::vector<std::vector<std::string>>& usual);

}  // namespace regard::data
