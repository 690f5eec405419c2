#include "data/preview.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/utf8.h"

namespace regard::data {
namespace {

constexpr int kIndent = 2, kGap = 1;  // indentation and distance between columns, in terminal cells

std::string padded(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - utf8::width(text))), ' ');
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string aligned_preview(std::span<const PreviewRow> rows, int width) {
  int name_width = 0;
  std::size_t columns = 0;
  for (const PreviewRow& row : rows) {
    name_width = std::max(name_width, utf8::width(row.name));
    columns = std::max(columns, row.cells.size());
  }
  std::vector<std::vector<std::string>> cells(rows.size());
  std::vector<int> widths(columns, 0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[r].cells.size(); ++c) {
      cells[r].push_back(printable(rows[r].cells[c]));
      widths[c] = std::max(widths[c], utf8::width(cells[r].back()));
    }
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
    int used = kIndent + name_width;
    while (end < columns && (end == begin || used + kGap + widths[end] <= width))
      used += kGap + widths[end++];
    if (begin > 0) text += "\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::string line = std::string(kIndent, ' ') + padded(begin == 0 ? rows[r].name : "", name_width);
      for (std::size_t c = begin; c < end; ++c)
        line += std::string(kGap, ' ') + padded(c < cells[r].size() ? cells[r][c] : "", widths[c]);
      text += without_trailing_spaces(std::move(line)) + "\n";
    }
  }
  return text;
}

PreviewRow token_row(std::string name, const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  PreviewRow row{std::move(name), {}};
  for (const std::int32_t id : ids) {
    const std::string token = id < 0 || id >= tokenizer.vocabulary_size() ? "" : tokenizer.token_of(id);
    row.cells.push_back(token.empty() ? fmt::format("#{}", id) : token);
  }
  return row;
}

PreviewRow label_row(std::string name, std::span<const std::int32_t> labels,
                     const std::vector<std::string>& names) {
  PreviewRow row{std::move(name), {}};
  for (const std::int32_t label : labels) {
    const auto index = static_cast<std::size_t>(label);
    row.cells.push_back(label < 0 ? "·" : index < names.size() ? names[index] : std::to_string(label));
  }
  return row;
}

}  // namespace regard::data
