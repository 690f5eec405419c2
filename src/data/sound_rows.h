// Reads tables that name sound files, with a label or a text for each file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/data_files.h"

namespace regard::data {

struct SoundRow {
  std::filesystem::path file;
  std::string name;        // path of the sound as given in the table
  std::string text;        // label or text of the sound
  Place place;             // location of the row in the data
  std::size_t source = 0;  // index of the table that contains the row
};

// Read the rows of a table of two columns: the path of a sound, relative to the table's folder, and the label
// or text. `second` is the default name of the second column in jsonl. Throws as open_table() and TableReader
// do; the sounds are not read.
std::vector<SoundRow> read_sound_rows(const DataFiles& data, const char* second);

}  // namespace regard::data
