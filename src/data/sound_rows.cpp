#include "data/sound_rows.h"

namespace regard::data {

std::vector<SoundRow> read_sound_rows(const DataFiles& data, const char* second) {
  TableReader table = open_table(data, {{"path", second}});
  std::vector<SoundRow> rows;
  for (TableRow row; table.next(row);) {
    const std::filesystem::path path(row.text(0));
    rows.push_back({path.is_absolute() ? path : std::filesystem::path(row.file()).parent_path() / path,
                    row.text(0), row.text(1), row.place()});
  }
  return rows;
}

}  // namespace regard::data
