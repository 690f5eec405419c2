#include "regard/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/check.h"
#include "base/utf8.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

std::string padded(const std::string& text, int width, bool right) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - utf8::width(text))), ' ');
  return right ? fill + text : text + fill;
}

// Return the first `rows` rows of a matrix, or a complete tensor of another rank, converted to f64.
Tensor first_rows(const Tensor& tensor, std::int64_t rows) {
  const bool matrix = tensor.shape().rank() == 2;
  return (matrix ? tensor.slice_rows(0, std::min(rows, tensor.rows())) : tensor).to(DType::f64);
}

double value_at(const Tensor& numbers, std::int64_t row, std::int64_t column) {
  return numbers.f64()[row * numbers.columns() + column];
}

void check_digits(const char* function, int digits) {
  constexpr int kMostDigits = 100;
  if (digits < 0 || digits > kMostDigits)
    throw usage_error(fmt::format("{}: number of digits out of range", function))
        .found(std::to_string(digits))
        .expected(fmt::format("0 to {}", kMostDigits));
}

std::string name_at(const std::vector<std::string>& names, std::int64_t index) {
  return index < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(index)] : "";
}

struct Layout {
  std::int64_t rows, columns;
  int row_width = 0;
  std::vector<int> widths;
};

Layout lay_out(const Tensor& tensor, const Tensor& numbers, const PrintOptions& options) {
  Layout layout{
      std::min(tensor.rows(), options.most_rows), std::min(tensor.columns(), options.most_columns), 0, {}};
  for (std::int64_t r = 0; r < layout.rows; ++r)
    layout.row_width = std::max(layout.row_width, utf8::width(name_at(options.row_names, r)));
  for (std::int64_t c = 0; c < layout.columns; ++c) {
    int width = utf8::width(name_at(options.column_names, c));
    for (std::int64_t r = 0; r < layout.rows; ++r)
      width = std::max(
          width, static_cast<int>(fmt::formatted_size("{:.{}f}", value_at(numbers, r, c), options.digits)));
    layout.widths.push_back(width);
  }
  return layout;
}

}  // namespace

std::string matrix_text(const std::string& name, const Tensor& tensor, const PrintOptions& options) {
  api::require_tensor("matrix_text", "the tensor", tensor);
  check_digits("matrix_text", options.digits);
  if (options.most_rows < 0 || options.most_columns < 0)
    throw usage_error("matrix_text: most_rows or most_columns is negative")
        .found(fmt::format("{} rows, {} columns", options.most_rows, options.most_columns))
        .expected("0 or more");
  const Tensor numbers = first_rows(tensor, options.most_rows);
  const Layout layout = lay_out(tensor, numbers, options);
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
      text += fmt::format("  {:{}.{}f}", value_at(numbers, r, c), layout.widths[static_cast<std::size_t>(c)],
                          options.digits);
    text += more_columns > 0 ? fmt::format("  … {} more\n", more_columns) : "\n";
  }
  if (more_rows > 0) text += fmt::format("  … {} more rows\n", more_rows);
  return text;
}

std::string vector_text(const Tensor& tensor, int digits, std::int64_t most) {
  api::require_tensor("vector_text", "the tensor", tensor);
  check_digits("vector_text", digits);
  const std::int64_t count = tensor.elements(), shown = std::min(count, std::max<std::int64_t>(most, 1));
  const Tensor numbers = tensor.to(DType::f64);
  std::string text = "[";
  for (std::int64_t i = 0; i < shown; ++i)
    text += fmt::format("{}{:.{}f}", i > 0 ? ", " : "", numbers.f64()[i], digits);
  if (shown < count) text += fmt::format(", … {} more", count - shown);
  return text + "]";
}

}  // namespace regard
