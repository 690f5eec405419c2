#include "regard/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace regard {
namespace {

std::string padded(const std::string& text, int width, bool right) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - utf8::width(text))), ' ');
  return right ? fill + text : text + fill;
}

double value_at(const Tensor& tensor, std::int64_t row, std::int64_t column) {
  return tensor.dtype() == DType::f32 ? static_cast<double>(tensor.row(row)[column])
                                      : tensor.to(DType::f64).f64()[row * tensor.columns() + column];
}

std::string name_at(const std::vector<std::string>& names, std::int64_t index) {
  return index < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(index)] : "";
}

struct Layout {
  std::int64_t rows, columns;
  int row_width = 0;
  std::vector<int> widths;
};

Layout lay_out(const Tensor& tensor, const PrintOptions& options) {
  Layout layout{
      std::min(tensor.rows(), options.most_rows), std::min(tensor.columns(), options.most_columns), 0, {}};
  for (std::int64_t r = 0; r < layout.rows; ++r)
    layout.row_width = std::max(layout.row_width, utf8::width(name_at(options.row_names, r)));
  for (std::int64_t c = 0; c < layout.columns; ++c) {
    int width = utf8::width(name_at(options.column_names, c));
    for (std::int64_t r = 0; r < layout.rows; ++r)
      width = std::max(
          width, static_cast<int>(fmt::formatted_size("{:.{}f}", value_at(tensor, r, c), options.digits)));
    layout.widths.push_back(width);
  }
  return layout;
}

}  // namespace

std::string matrix_text(const std::string& name, const Tensor& tensor, const PrintOptions& options) {
  const Layout layout = lay_out(tensor, options);
  const std::int64_t more_columns = tensor.columns() - layout.columns,
                     more_rows = tensor.rows() - layout.rows;
  std::string text = fmt::format("{} {}\n", name, tensor.shape().text());
  if (!options.column_names.empty()) {
    text += "  " + padded("", layout.row_width, false);
    for (std::int64_t c = 0; c < layout.columns; ++c)
      text +=
          "  " + padded(name_at(options.column_names, c), layout.widths[static_cast<std::size_t>(c)], true);
    text += '\n';
  }
  for (std::int64_t r = 0; r < layout.rows; ++r) {
    text += "  " + padded(name_at(options.row_names, r), layout.row_width, false);
    for (std::int64_t c = 0; c < layout.columns; ++c)
      text += fmt::format("  {:{}.{}f}", value_at(tensor, r, c), layout.widths[static_cast<std::size_t>(c)],
                          options.digits);
    text += more_columns > 0 ? fmt::format("  … {} more\n", more_columns) : "\n";
  }
  if (more_rows > 0) text += fmt::format("  … {} more rows\n", more_rows);
  return text;
}

std::string vector_text(const Tensor& tensor, int digits, std::int64_t most) {
  const std::int64_t count = tensor.elements(), shown = std::min(count, std::max<std::int64_t>(most, 1));
  std::string text = "[";
  for (std::int64_t i = 0; i < shown; ++i)
    text += fmt::format("{}{:.{}f}", i > 0 ? ", " : "",
                        value_at(tensor, i / tensor.columns(), i % tensor.columns()), digits);
  if (shown < count) text += fmt::format(", … {} more", count - shown);
  return text + "]";
}

}  // namespace regard
