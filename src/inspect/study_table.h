// StudyTable: the result of a study, and its output as a terminal table, CSV, JSON and SVG.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/json_fwd.h"
#include "inspect/intervention_warning.h"

namespace regard::inspect {

// In a column of numbers, an empty text is a missing value.
using StudyCell = std::variant<std::string, double>;

struct StudyTable {
  // `study`: name of the study, such as "heads". `title`: one line with the measured quantity and its units
  std::string study, title;
  std::vector<std::string> columns;  // column names; the first columns, which are text, identify the row
  std::vector<std::vector<StudyCell>> rows;
  std::vector<std::string> notes;             // remarks about the numbers, one sentence each
  std::vector<InterventionWarning> warnings;  // EditedPass::warnings() of the study's interventions
  int digits = 3;                             // number of decimals that text() prints

  // Format for the terminal: text columns are aligned left, numbers right. `most_rows` > 0 limits the rows;
  // the number of omitted rows is then printed after them.
  std::string text(std::size_t most_rows = 0) const;
  // the table as CSV (RFC 4180) with a header; numbers have the fewest digits that parse to the same values
  std::string csv() const;
  // the table as {"study", "title", "columns", "rows": [{column: value}], "notes"}, and "warnings" if there
  // are any
  Json json() const;
  // Draw a grid with one line per row. The shade of a number is its magnitude divided by the largest
  // magnitude of the column.
  std::string svg() const;
};

}  // namespace regard::inspect
