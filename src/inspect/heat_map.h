// A matrix of weights as text: for the terminal, aligned by what each letter takes there.
#pragma once

#include <span>
#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

struct HeatMapStyle {
  int columns = 80;        // cells that a line may take
  std::int64_t rows = 60;  // of the matrix at most; the rest is counted and left out
  bool colour = false;     // shades behind the numbers
};

// Numbers are percent of the row, rounded; "·" is less than half a percent. Column labels stand above their
// columns if there is room, otherwise as numbers with a list below. Where rows or columns are left out, the
// last line says how many.
std::string heat_map(const Map& map, std::span<const std::string> row_labels,
                     std::span<const std::string> column_labels, const HeatMapStyle& style);

// Cuts a label to `width` cells at a grapheme's border, "…" in place of what is gone.
std::string shortened(std::string_view label, int width);
// Spaces added so that the label takes `width` cells.
std::string padded(std::string_view label, int width, bool right);

}  // namespace regard::inspect
