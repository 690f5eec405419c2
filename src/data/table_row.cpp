// Implementation of TableRow: access to the values of a row.
#include <algorithm>
#include <cmath>

#include "base/parse_number.h"
#include "data/table.h"

namespace regard::data {

std::string TableRow::column_name(std::size_t column) const {
  const std::string& name = (*names_)[column];
  return is_column_number(name) ? "column " + name : "column '" + name + "'";
}

Error TableRow::error(std::size_t column, const std::string& message) const {
  return {ErrorKind::bad_file, column_name(column) + ": " + message, place()};
}

Error TableRow::wrong(std::size_t column, const char* expected) const {
  const Cell& cell = cells_[column];
  std::string found = cell.given ? "null" : "nothing";
  if (cell.present) found = describe(json_ && !cell.value.is_null() ? cell.value : Json(cell.text));
  return error(column, "wrong value").found(std::move(found)).expected(expected);
}

const std::string& TableRow::text(std::size_t column) const {
  const Cell& cell = cells_[column];
  if (!cell.present || !cell.is_text) throw wrong(column, "a string or a number");
  return cell.text;
}

Json TableRow::json(std::size_t column) const {
  const Cell& cell = cells_[column];
  if (!cell.present) throw wrong(column, "a value");
  if (json_) return cell.value.is_null() ? Json(cell.text) : cell.value;
  try {
    return parse_json(cell.text, file_);
  } catch (const Error& failure) {
    throw error(column, failure.message()).found(describe(Json(cell.text))).expected("JSON");
  }
}

std::vector<std::string> TableRow::words(std::size_t column) const {
  const Cell& cell = cells_[column];
  if (!cell.present) throw wrong(column, "a list of strings");
  std::vector<std::string> words;
  if (json_ && cell.value.is_array()) {
    for (const Json& word : cell.value) {
      if (!word.is_string())
        throw error(column, "wrong value in the list").found(describe(word)).expected("a list of strings");
      words.push_back(word.get_ref<const std::string&>());
    }
    return words;
  }
  if (!cell.is_text) throw wrong(column, "a list of strings, or words separated by spaces");
  for (std::size_t begin = 0; begin < cell.text.size();) {
    const std::size_t end = std::min(cell.text.find(' ', begin), cell.text.size());
    if (end > begin) words.push_back(cell.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

double TableRow::number(std::size_t column) const {
  const Cell& cell = cells_[column];
  const auto number = parse_number<double>(cell.text);
  if (!cell.present || !cell.is_text || !number || !std::isfinite(*number)) throw wrong(column, "a number");
  return *number;
}

std::int64_t TableRow::integer(std::size_t column) const {
  const Cell& cell = cells_[column];
  const auto number = parse_number<std::int64_t>(cell.text);
  if (!cell.present || !cell.is_text || !number) throw wrong(column, "an integer");
  return *number;
}

}  // namespace regard::data
