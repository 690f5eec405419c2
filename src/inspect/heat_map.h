// Attention weights as text for the terminal. Columns are aligned by the display width of characters.
#pragma once

#include <span>
#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

struct HeatMapStyle {
  int columns = 80;  // maximum width of a line in terminal cells
  // maximum number of matrix rows; the other rows are omitted, and their number is shown
  std::int64_t rows = 60;
  bool colour = false;  // shade the cells' background by weight (ANSI escapes)
};

// Format an attention map as a table of weights in percent, rounded; "·" means less than half a percent. If
// the column labels do not fit above the columns, the columns are numbered and a list of labels follows. If
// rows or columns are omitted, the last line states how many.
std::string heat_map(const Map& map, std::span<const std::string> row_labels,
                     std::span<const std::string> column_labels, const HeatMapStyle& style);

// Truncate a label to `width` terminal cells at a grapheme boundary, ending in "…" if it was truncated.
std::string shortened(std::string_view label, int width);
// Pad a label with spaces to `width` terminal cells. If `right` is true, align it to the right.
std::string padded(std::string_view label, int width, bool right);

}  // namespace regard::inspect
