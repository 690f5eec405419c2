// Data files that options name for a task, and the tables in these files.
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

// Return options with the files, columns and header of `data`, and with empty lines skipped.
TableOptions table_options(const DataFiles& data);

// Open the table of a task. `usual` holds the lists of columns that the task accepts. The number of columns,
// or of line-aligned files, must be the length of one of these lists. Default columns: those of usual[0], by
// name in jsonl, by position in other tables.
TableReader open_table(const DataFiles& data, const std::vector<std::vector<std::string>>& usual);

}  // namespace regard::data
