// The result of a study as a table: on the terminal, as CSV, JSON and SVG.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/json_fwd.h"

namespace regard::inspect {

using StudyCell = std::variant<std::string, double>;

struct StudyTable {
  std::string study, title;          // "heads"; one line that says what is measured, with units
  std::vector<std::string> columns;  // the first columns of text are the row's name
  std::vector<std::vector<StudyCell>> rows;
  std::vector<std::string> notes;  // facts that belong to the numbers, one sentence each
  int digits = 3;                  // after the point, on the terminal

  // Text columns are aligned left, numbers right. `most_rows` > 0: the first rows and a line with the number
  // of the others.
  std::string text(std::size_t most_rows = 0) const;
  std::string csv() const;  // RFC 4180, with a header; numbers as short as they are exact
  Json json() const;        // {"study", "title", "columns", "rows": [{column: value}], "notes"}
  // A grid with one row per row: the shade of a number is its share of the column's largest magnitude.
  std::string svg() const;
};

}  // namespace regard::inspect
