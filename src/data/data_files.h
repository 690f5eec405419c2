// Data files of a task as options name them, and the rows of tables in them.
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
  std::int64_t highest = 0;  // tables of pixels: the value of white; 0 for tables of paths
};

// Return the options for these files, with the columns as named; blank rows are skipped.
TableOptions table_options(const DataFiles& data);

// Open the rows of a task. `usual` holds the possible lists of columns: their names in jsonl, and their order
// in other tables. The number of columns that the caller named must be the length of one of these lists.
TableReader open_table(const DataFiles& data, const std::vector<std::vector<std::string>>& usual);

}  // namespace regard::data
