// Corpora: records of one or several texts, read in order from line-aligned files, TSV or JSONL. Faulty
// records are refused, or left out and counted with the place of the first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::data {

enum class CorpusFormat { lines, tsv, jsonl, text };

// The format by file name extension (.tsv, .jsonl), else `otherwise`.
CorpusFormat format_of(const std::string& path, CorpusFormat otherwise);

enum class Faulty { refuse, skip, keep };  // keep: for empty texts only

struct CorpusOptions {
  std::vector<std::string>
      files;  // lines, text: one per text of a record; tsv, jsonl: any number, read in order
  CorpusFormat format = CorpusFormat::lines;
  // One per text of a record. tsv: numbers from 1, or names from the first line, which is then a header;
  // jsonl: names.
  std::vector<std::string> columns{};
  Faulty empty = Faulty::skip;  // records with an empty text, or one of spaces only
  Faulty bad_utf8 = Faulty::refuse;
  bool header = false;                // tsv: the first line of each file is a header
  bool normalize_whitespace = false;  // apply regard::normalize_whitespace() to each text
  std::size_t max_characters = 0;     // leave out records with a longer text; 0: no limit
};

// Numbers of records read and left out, with the place of the first of each kind left out.
struct CorpusReport {
  std::int64_t records = 0;  // returned
  std::int64_t empty = 0, bad_utf8 = 0, too_long = 0;
  Place first_empty, first_bad_utf8, first_too_long;

  // Add the report of data that was read after this.
  void add(const CorpusReport& later);
  // "29000 records; 2 with an empty text left out (first: FILE:LINE)".
  std::string text() const;
};

class CorpusReader {
 public:
  // Throws usage if there is no file or the columns are invalid, and io if a file cannot be opened.
  explicit CorpusReader(CorpusOptions options);
  ~CorpusReader();

  // Read the next record, one text per file or column. Return false at the end. Throws bad_file with file and
  // line for aligned files of unequal length, missing columns, invalid JSON, and faults that the options
  // refuse.
  bool next(std::vector<std::string>& texts);

  const CorpusReport& report() const { return report_; }
  std::size_t width() const { return width_; }  // texts per record

 private:
  struct Source;
  bool read(std::vector<std::string>& texts);
  bool read_aligned(std::vector<std::string>& texts);
  bool read_row(std::vector<std::string>& texts);
  void read_columns(std::vector<std::string>& texts);
  void read_header();
  [[noreturn]] void refuse_unequal();
  bool keep(std::vector<std::string>& texts);
  bool keep_text(const std::string& text, const Place& place);

  CorpusOptions options_;
  std::size_t width_ = 0;
  std::vector<std::size_t> column_numbers_;  // tsv, from 0
  std::size_t header_width_ = 0;             // columns in the header of the current file; 0: no header
  std::vector<std::unique_ptr<Source>> sources_;
  std::size_t current_ = 0;  // tsv, jsonl: index of the current file
  CorpusReport report_;
};

// Read the files and concatenate them, without byte order marks but otherwise unchanged. Lines that are not
// UTF-8 are refused, or left out and counted.
std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report);

}  // namespace regard::data
