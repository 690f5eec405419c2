// Reads records of delimited text: TSV without quotes, and CSV (RFC 4180).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/line_reader.h"
#include "regard/error.h"

namespace regard::data {

struct Delimited {
  char delimiter = '\t';
  // If true, a field in quotation marks may contain delimiters, line ends (kept unchanged) and doubled
  // quotation marks (each becomes one). Fields that do not begin with a quotation mark are used unchanged.
  bool quotes = false;
};

class FieldReader {
 public:
  // "-" is standard input. Throws io if the file cannot be opened.
  FieldReader(const std::string& path, Delimited form) : reader_(path, BadUtf8::flag), form_(form) {}

  // Read the next record; return false at the end. An empty line is a record of one empty field. Throws
  // bad_file for a quoted field that is not closed, because the records after it cannot be found.
  bool next(std::vector<std::string>& fields);

  const std::string& name() const { return reader_.name(); }
  std::int64_t line() const { return line_; }  // first line of the last record, from 1
  bool valid() const { return valid_; }        // true if the last record is UTF-8
  bool blank() const { return blank_; }        // true if the last record is an empty line
  // Return the number (from 1) of the first malformed field in the last record; 0 if there is none. A field
  // is malformed if text follows its closing quotation mark.
  std::size_t malformed_field() const { return malformed_field_; }

 private:
  void split(std::vector<std::string>& fields);
  void split_quoted(std::vector<std::string>& fields);
  std::size_t read_quoted(std::size_t begin, std::string& field);
  void next_line_of_field(std::string& field);
  std::string& field(std::vector<std::string>& fields);

  LineReader reader_;
  Delimited form_;
  std::string text_;       // text of the current line
  std::size_t count_ = 0;  // number of fields of the current record so far
  std::int64_t line_ = 0;
  bool valid_ = true, blank_ = false;
  std::size_t malformed_field_ = 0;
};

}  // namespace regard::data
