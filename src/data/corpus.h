// Reads corpora: tables whose records have one or several texts. A faulty record is an error, or is skipped
// and listed in the report with its location.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/input_stream.h"
#include "data/table.h"

namespace regard::data {

using CorpusFormat = TableFormat;
using CorpusReport = RowReport;

struct CorpusOptions {
  // lines: one file per text of a record; other formats: any number of files, read in order
  std::vector<std::string> files;
  CorpusFormat format = CorpusFormat::lines;
  // Columns, one per text of a record. tsv, csv: numbers from 1, or names from the first line, which is then
  // a header. jsonl: names.
  std::vector<std::string> columns{};
  Faulty empty = Faulty::skip;  // treatment of records with a text that is empty or consists of white space
  Faulty bad_utf8 = Faulty::refuse;
  bool header = false;                // tsv, csv: the first line of each file is a header
  char delimiter = '\0';              // tsv, csv: field separator (see TableOptions::delimiter)
  Faulty malformed = Faulty::refuse;  // treatment of rows that lack a column or have an invalid format
  bool normalize_whitespace = false;  // apply base::normalize_whitespace() to each text
  std::size_t max_characters = 0;     // skip records with a text of more characters; 0: no limit
};

class CorpusReader {
 public:
  // Throws usage if there is no file or the columns are invalid, and io if a file cannot be opened.
  explicit CorpusReader(CorpusOptions options);

  // Read the next record, one text per file or column. Return false at the end. Throws bad_file as
  // TableReader does, and for an empty text if `empty` is Faulty::refuse.
  bool next(std::vector<std::string>& texts);

  const CorpusReport& report() const { return table_.report(); }
  Place place() const { return row_.place(); }  // location of the last record that was read
  // index of the last record's file (see TableReader::file_index())
  std::size_t file_index() const { return table_.file_index(); }
  std::size_t width() const { return width_; }  // number of texts per record

 private:
  bool keep(const std::vector<std::string>& texts);
  bool keep_text(std::size_t column, const std::string& text);
  Place text_place(std::size_t column) const;

  CorpusOptions options_;
  std::size_t width_ = 0;
  TableReader table_;
  TableRow row_;
};

// Reads text files in order, in blocks. Byte order marks are removed; other text is unchanged. A line that is
// not UTF-8 is an error or, if bad_utf8 is Faulty::skip, left out and counted.
class TextReader {
 public:
  TextReader(std::vector<std::string> files, Faulty bad_utf8);

  // Read the next block of text, which ends at a character boundary, into `piece`; return false at the end.
  // Throws io, and bad_file for a line that is not UTF-8 and must not be skipped.
  bool next(std::string& piece);
  const CorpusReport& report() const { return report_; }  // report on the lines read so far

 private:
  std::size_t end_of_piece();
  void keep_valid_lines(std::string& piece);

  std::vector<std::string> files_;
  Faulty bad_utf8_;
  std::size_t opened_ = 0;  // number of files opened so far
  std::unique_ptr<InputStream> stream_;
  std::string buffer_;  // text read but not yet returned
  // number of bytes at the start of the buffer that were searched and contain no line end
  std::size_t searched_ = 0;
  bool at_start_ = false;  // true at the start of a file, where a byte order mark may follow
  std::int64_t line_ = 0;  // number of lines of the current file that precede the buffer
  CorpusReport report_;
};

// Return the text of all files, concatenated.
std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report);

}  // namespace regard::data
