#include "inspect/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/utf8.h"

namespace regard::inspect {
namespace {

constexpr int kNumberWidth = 3;  // width of the text "100" in terminal cells
constexpr int kLongestLabel = 14;
constexpr int kLongestHead = 8;  // maximum width of a column label, in terminal cells

// Sizes of the table, in terminal cells.
struct Layout {
  int label_width = 0;      // width of row labels
  bool numbered = false;    // true if columns are numbered, and a list of labels follows the table
  std::vector<int> widths;  // widths of the columns that are shown, without the preceding space
  std::int64_t rows = 0;    // number of rows shown
};

int capped_width(std::string_view label, int most) {
  return std::min(utf8::width(label), most);
}

// Return the number of columns of the given widths that fit into `cells` terminal cells.
std::size_t fitting(std::span<const int> widths, int cells) {
  std::size_t count = 0;
  for (; count < widths.size() && widths[count] + 1 <= cells; ++count) cells -= widths[count] + 1;
  return count;
}

Layout lay_out(const Map& map, std::span<const std::string> row_labels,
               std::span<const std::string> column_labels, const HeatMapStyle& style) {
  Layout layout;
  layout.rows = std::min(map.rows, std::max<std::int64_t>(style.rows, 1));
  for (std::size_t r = 0; r < static_cast<std::size_t>(layout.rows); ++r)
    layout.label_width = std::max(layout.label_width, capped_width(row_labels[r], kLongestLabel));
  const int cells = style.columns - layout.label_width;
  std::vector<int> labelled(static_cast<std::size_t>(map.columns));
  for (std::size_t c = 0; c < labelled.size(); ++c)
    labelled[c] = std::max(kNumberWidth, capped_width(column_labels[c], kLongestHead));
  layout.numbered = fitting(labelled, cells) < labelled.size();
  if (layout.numbered) std::fill(labelled.begin(), labelled.end(), kNumberWidth);
  labelled.resize(std::max<std::size_t>(fitting(labelled, cells), 1));
  layout.widths = std::move(labelled);
  return layout;
}

// Return the ANSI escape for a background colour, darker for larger weights, and a readable text colour. The
// colours are from xterm's palette of 256.
std::string shade(float weight) {
  constexpr std::array<int, 8> kBackground{231, 195, 153, 111, 75, 33, 26, 18};
  const int step = std::clamp(static_cast<int>(weight * 8.0f), 0, 7);
  return fmt::format("\x1b[48;5;{};38;5;{}m", kBackground[static_cast<std::size_t>(step)],
                     step < 4 ? 16 : 231);
}

std::string cell(float weight, int width, bool colour) {
  const std::string number =
      weight < 0.005f ? "·" : fmt::format("{}", static_cast<int>(std::lround(weight * 100.0f)));
  const std::string text = " " + padded(number, width, true);
  return colour ? shade(weight) + text + "\x1b[0m" : text;
}

std::string column_list(std::span<const std::string> labels, const Layout& layout, int columns) {
  std::string out, line;
  for (std::size_t c = 0; c < layout.widths.size(); ++c) {
    const std::string entry = fmt::format("{} {}", c, shortened(labels[c], kLongestLabel));
    if (!line.empty() && utf8::width(line) + 2 + utf8::width(entry) > columns) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? entry : "  " + entry;
  }
  return out + line + "\n";
}

std::string left_out(const Map& map, const Layout& layout) {
  const auto shown_columns = static_cast<std::int64_t>(layout.widths.size());
  std::string what;
  if (layout.rows < map.rows) what = fmt::format("{} of {} rows", map.rows - layout.rows, map.rows);
  if (shown_columns < map.columns) {
    if (!what.empty()) what += " and ";
    what += fmt::format("{} of {} columns", map.columns - shown_columns, map.columns);
  }
  return what.empty() ? "" : "… " + what + " omitted; the JSON output has all.\n";
}

}  // namespace

std::string shortened(std::string_view label, int width) {
  if (utf8::width(label) <= width) return std::string(label);
  std::string out;
  int used = 1;  // terminal cells used so far: one for the ellipsis
  for (const std::string_view cluster : utf8::graphemes(label)) {
    const int more = utf8::cluster_width(cluster);
    if (used + more > width) break;
    out += cluster;
    used += more;
  }
  return out + "…";
}

std::string padded(std::string_view label, int width, bool right) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - utf8::width(label))), ' ');
  return right ? space + std::string(label) : std::string(label) + space;
}

std::string heat_map(const Map& map, std::span<const std::string> row_labels,
                     std::span<const std::string> column_labels, const HeatMapStyle& style) {
  if (map.rows == 0 || map.columns == 0) return "";
  const Layout layout = lay_out(map, row_labels, column_labels, style);
  std::string out(static_cast<std::size_t>(layout.label_width), ' ');
  for (std::size_t c = 0; c < layout.widths.size(); ++c) {
    const int width = layout.widths[c];
    const std::string head = layout.numbered ? fmt::format("{}", c) : shortened(column_labels[c], width);
    out += " " + padded(head, width, true);
  }
  out += "\n";
  for (std::int64_t r = 0; r < layout.rows; ++r) {
    out += padded(shortened(row_labels[static_cast<std::size_t>(r)], layout.label_width), layout.label_width,
                  true);
    for (std::size_t c = 0; c < layout.widths.size(); ++c)
      out += cell(map.at(r, static_cast<std::int64_t>(c)), layout.widths[c], style.colour);
    out += "\n";
  }
  if (layout.numbered) out += column_list(column_labels, layout, style.columns);
  return out + left_out(map, layout);
}

}  // namespace regard::inspect
