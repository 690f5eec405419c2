#include "inspect/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"
#include "inspect/svg.h"

namespace regard::inspect {
namespace {

std::string shown(const StudyCell& cell, int digits) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  const std::string number = fmt::format("{:.{}f}", std::get<double>(cell), digits);
  // Avoid "-0.000" for a negative number that rounds to zero.
  return number.find_first_not_of("-0.") == number.npos && number.starts_with('-') ? number.substr(1)
                                                                                   : number;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

bool is_text(const StudyCell& cell) {
  return std::holds_alternative<std::string>(cell);
}

// Return true if the first non-empty cell of a column is a text, or if all cells are empty texts.
bool is_text_column(const StudyTable& table, std::size_t column) {
  for (const std::vector<StudyCell>& row : table.rows) {
    if (!is_text(row[column])) return false;
    if (!std::get<std::string>(row[column]).empty()) return true;
  }
  return !table.rows.empty();
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string StudyTable::text(std::size_t most_rows) const {
  const std::size_t count = most_rows == 0 ? rows.size() : std::min(most_rows, rows.size());
  std::vector<std::size_t> widths;
  std::vector<bool> left;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(width_of(columns[c]));
    for (std::size_t r = 0; r < count; ++r)
      widths[c] = std::max(widths[c], width_of(shown(rows[r][c], digits)));
    left.push_back(is_text_column(*this, c));
  }
  const auto line = [&](auto&& cell_of) {
    std::string out;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = cell_of(c);
      const std::string space(widths[c] - std::min(widths[c], width_of(cell)), ' ');
      out += (c == 0 ? "" : "  ") + (left[c] ? cell + space : space + cell);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string out = title + "\n\n" + line([&](std::size_t c) { return columns[c]; });
  for (std::size_t r = 0; r < count; ++r)
    out += line([&](std::size_t c) { return shown(rows[r][c], digits); });
  if (count < rows.size()) out += fmt::format("… and {} more\n", rows.size() - count);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += note + "\n";
  return out;
}

std::string StudyTable::csv() const {
  std::string out;
  for (std::size_t c = 0; c < columns.size(); ++c) out += (c == 0 ? "" : ",") + quoted(columns[c]);
  out += "\r\n";
  for (const std::vector<StudyCell>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      out += (c == 0 ? "" : ",") + (is_text(row[c]) ? quoted(std::get<std::string>(row[c]))
                                                    : fmt::format("{}", std::get<double>(row[c])));
    out += "\r\n";
  }
  return out;
}

Json StudyTable::json() const {
  Json out{
      {"study", study}, {"title", title}, {"columns", columns}, {"rows", Json::array()}, {"notes", notes}};
  for (const std::vector<StudyCell>& row : rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (is_text(row[c]))
        object[columns[c]] = std::get<std::string>(row[c]);
      else
        object[columns[c]] = std::get<double>(row[c]);
    }
    out["rows"].push_back(std::move(object));
  }
  if (!warnings.empty()) out["warnings"] = to_json(warnings);
  return out;
}

std::string StudyTable::svg() const {
  constexpr double kRow = 20, kCell = 76, kLetter = 7.2, kTop = 64, kMargin = 12;
  constexpr std::size_t kMostRows = 400;
  const std::size_t count = std::min(rows.size(), kMostRows);
  SvgWriter svg;
  svg.text(kMargin, 22, title, "title");
  double x = kMargin;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool text = is_text_column(*this, c);
    double width = text ? kLetter * static_cast<double>(width_of(columns[c])) : kCell;
    double largest = 0;
    for (std::size_t r = 0; r < count; ++r) {
      if (text)
        width = std::max(width, kLetter * static_cast<double>(width_of(shown(rows[r][c], digits))));
      else if (!is_text(rows[r][c]))
        largest = std::max(largest, std::abs(std::get<double>(rows[r][c])));
    }
    svg.text(text ? x : x + width - 6, kTop - 10, columns[c], "quiet",
             text ? SvgWriter::Anchor::start : SvgWriter::Anchor::end);
    for (std::size_t r = 0; r < count; ++r) {
      const double y = kTop + kRow * static_cast<double>(r);
      if (!text && !is_text(rows[r][c])) {
        const double value = std::get<double>(rows[r][c]);
        const double share = largest > 0 && std::isfinite(value) ? std::abs(value) / largest : 0;
        svg.rectangle(x, y, width - 2, kRow - 2, "cell", 0.85 * share,
                      fmt::format("{}: {}", columns[c], value));
      }
      svg.text(text ? x : x + width - 6, y + 14, shown(rows[r][c], digits), "label",
               text ? SvgWriter::Anchor::start : SvgWriter::Anchor::end);
    }
    x += width + (text ? 14 : 0);
  }
  double y = kTop + kRow * static_cast<double>(count) + 16;
  if (count < rows.size())
    svg.text(kMargin, y, fmt::format("… and {} more", rows.size() - count), "quiet"), y += 16;
  for (const std::string& note : notes) svg.text(kMargin, y, note, "quiet"), y += 16;
  return svg.document(std::max(x + kMargin, 480.0), y, title);
}

}  // namespace regard::inspect
