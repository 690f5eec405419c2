// Tables: rows with named columns, read in order from TSV, CSV, JSONL, plain text or line-aligned files.
// Files may be compressed with gzip or zstd; "-" is standard input; a byte order mark at the start of a file
// is removed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/row_report.h"

namespace regard::data {

enum class TableFormat {
  lines,  // line-aligned files: file i is column i, and row n is line n of each file
  tsv,    // fields separated by tabs, without quotes, one row per line
  csv,    // RFC 4180: fields may be quoted, and then contain delimiters, line ends and doubled quotes
  jsonl,  // one JSON object per line
  text,   // plain text: one column, one row per line; files are read in order
};

// Return the format for the extension of a file name (.tsv, .csv, .jsonl or .ndjson, also before .gz or
// .zst), or `otherwise` for other extensions.
TableFormat format_of(const std::string& path, TableFormat otherwise);
const char* format_name(TableFormat format);  // name of a format for messages, such as "TSV"
// return true if the rows of a single file may have several columns: tsv, csv, jsonl
bool has_columns(TableFormat format);

// Return true if `name` consists of digits. It then selects a column by its number, from 1.
bool is_column_number(const std::string& name);

enum class Header {
  automatic,  // the first line is a header if a column is given by name
  present,
  absent,
};

struct TableOptions {
  // lines: one file per column; other formats: any number of files, read in order
  std::vector<std::string> files;
  TableFormat format = TableFormat::lines;
  // Columns to read. tsv, csv: names from the header, or numbers from 1; empty means all columns of the
  // first line. jsonl: keys. lines, text: names for messages; default: numbers.
  std::vector<std::string> columns{};
  // Columns that may be missing in a table or a JSON object. In a row, they follow `columns`.
  std::vector<std::string> optional_columns{};
  char delimiter = '\0';  // field separator; '\0' selects the format's own (comma or tab)
  Header header = Header::automatic;
  Faulty bad_utf8 = Faulty::refuse;
  Faulty malformed = Faulty::refuse;
  // tsv, csv, jsonl: treatment of empty lines. With `keep`, tsv and csv read a row of one empty field, and
  // jsonl a row with an empty text in each of `columns`.
  Faulty blank = Faulty::refuse;
};

// One row. Columns are counted from 0: first TableOptions::columns, then optional_columns.
class TableRow {
 public:
  std::size_t size() const { return cells_.size(); }
  // Return true if the row has a value in the column. Returns false for a missing optional column and for
  // null.
  bool has(std::size_t column) const { return cells_[column].present; }

  // Return the text of the column; in jsonl, a number or Boolean is returned as JSON. Throws bad_file for a
  // list, an object, null and a missing value.
  const std::string& text(std::size_t column) const;
  // Return the value of the column: in jsonl, the value itself; in other formats, the text parsed as JSON.
  // Throws bad_file if it is not JSON.
  Json json(std::size_t column) const;
  // Return the list of strings in the column. A text (in any format) is split at spaces, and empty parts are
  // removed; jsonl may also contain a list.
  std::vector<std::string> words(std::size_t column) const;
  // Return the number in the column; text is parsed as a number. Throw bad_file for anything else.
  double number(std::size_t column) const;
  std::int64_t integer(std::size_t column) const;

  const std::string& file() const { return file_; }
  std::int64_t line() const { return line_; }  // first line of the row, from 1
  Place place() const { return {file_, line_, -1}; }
  // Return an error of kind bad_file at this row that names the column.
  Error error(std::size_t column, const std::string& message) const;

 private:
  friend class TableReader;
  struct Cell {
    std::string text;
    Json value;            // for jsonl, the value if it is not a string
    bool given = false;    // for jsonl, true if the object has the key
    bool present = false;  // result of has()
    bool is_text = true;   // true if the cell's content is in `text`, false if it is in `value`
  };
  Error wrong(std::size_t column, const char* expected) const;
  std::string column_name(std::size_t column) const;

  std::vector<Cell> cells_;
  // names of the columns, then of the optional columns
  std::shared_ptr<const std::vector<std::string>> names_;
  std::string file_;
  std::int64_t line_ = 0;
  bool json_ = false;
};

class TableReader {
 public:
  // Throws usage if there is no file or the columns are invalid, and io if a file cannot be opened.
  explicit TableReader(TableOptions options);
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  // Read the next row. Returns false at the end. Throws bad_file with file, line and column for a fault that
  // must not be skipped, for line-aligned files of unequal length, and for a missing column in a header.
  bool next(TableRow& row);

  // Return the index in a row of the column `name`. Column names come from the options. If the options have
  // none, the names come from the first header. Throws usage if there is no such column.
  std::size_t column(const std::string& name) const;
  // Return the names of all columns in the header of the current file. Empty if the file has no header or no
  // row was read.
  const std::vector<std::string>& header() const { return header_; }

  // Return the index in TableOptions::files of the file that contains the last row read; 0 for lines.
  std::size_t file_index() const { return current_; }
  RowReport& report() { return report_; }
  const RowReport& report() const { return report_; }
  // Call read(), which processes `row`, the last row that next() returned. If read() throws bad_file and
  // TableOptions::malformed is Faulty::skip, count the row as malformed instead of as a record, and return
  // false.
  template <class Read>
  bool read_or_skip(const TableRow& row, Read&& read) {
    const bool readable = report_.read_or_skip(options_.malformed, row, read);
    if (!readable) --report_.records;
    return readable;
  }
  const TableOptions& options() const { return options_; }

 private:
  struct Source;
  enum class Outcome { row, skipped, end };
  Outcome read_aligned(TableRow& row);
  Outcome read_line(TableRow& row);
  bool next_line();
  void name_columns(const std::vector<std::string>& columns);
  void start(TableRow& row, const Source& source);
  void read_header();
  void choose_columns();
  void read_fields(TableRow& row);
  void read_json(TableRow& row);
  bool skip_bad_utf8(const Source& source);
  [[noreturn]] void refuse_unequal();
  Source& source() { return *sources_[current_]; }

  TableOptions options_;
  // names of the columns, then of the optional columns
  std::shared_ptr<const std::vector<std::string>> names_;
  std::size_t required_ = 0;  // number of columns that are not optional
  // open files; null for a file that was read to its end or is not open yet
  std::vector<std::unique_ptr<Source>> sources_;
  std::size_t current_ =
      0;  // index of the file being read; unused if all files are read in parallel (TableFormat::lines)
  std::vector<std::string> header_, fields_;
  std::vector<std::optional<std::size_t>> numbers_;  // for each column, its index in fields_
  bool all_columns_ = false;  // true if all columns are read, because options_.columns is empty
  RowReport report_;
};

}  // namespace regard::data
