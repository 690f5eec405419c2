// Corpora: records of one or several texts, read in order from a table. Faulty records are refused, or left
// out and counted with the place of the first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table.h"

namespace regard::data {

using CorpusFormat = TableFormat;
using CorpusReport = RowReport;

struct CorpusOptions {
  std::vector<std::string> files;  // lines: one per text of a record; other formats: any number, in order
  CorpusFormat format = CorpusFormat::lines;
  // One per text of a record. tsv, csv: numbers from 1, or names from the first line, which is then a header;
  // jsonl: names.
  std::vector<std::string> columns{};
  Faulty empty = Faulty::skip;  // records with an empty text, or one of spaces only
  Faulty bad_utf8 = Faulty::refuse;
  bool header = false;                // tsv, csv: the first line of each file is a header
  bool normalize_whitespace = false;  // apply regard::normalize_whitespace() to each text
  std::size_t max_characters = 0;     // leave out records with a longer text; 0: no limit
};

class CorpusReader {
 public:
  // Throws usage if there is no file or the columns are invalid, and io if a file cannot be opened.
  explicit CorpusReader(CorpusOptions options);

  // Read the next record, one text per file or column. Return false at the end. Throws bad_file as
  // TableReader does, and for empty texts that the options refuse.
  bool next(std::vector<std::string>& texts);

  const CorpusReport& report() const { return table_.report(); }
  std::size_t width() const { return width_; }  // texts per record

 private:
  bool keep(const std::vector<std::string>& texts);
  bool keep_text(std::size_t column, const std::string& text);
  Place place(std::size_t column) const;

  CorpusOptions options_;
  std::size_t width_ = 0;
  TableReader table_;
  TableRow row_;
};

// Read the files and concatenate them, without byte order marks but otherwise unchanged. Lines that are not
// UTF-8 are refused, or left out and counted.
std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report);

}  // namespace regard::data
