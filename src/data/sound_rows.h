// Sound files, each with a label or a text, named by the rows of a table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/data_files.h"

namespace regard::data {

struct SoundRow {
  std::filesystem::path file;
  std::string name;        // path as given
  std::string text;        // label or text of the sound
  Place place;             // place of the row in the data
  std::size_t source = 0;  // index of the table that contains the row
};

// Read the rows of a table with the columns path, relative to the table's folder, and `second`. The files are
// not read. Throws as open_table() and TableReader do.
std::vector<SoundRow> read_sound_rows(const DataFiles& data, const char* second);

}  // namespace regard::data
