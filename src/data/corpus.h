// Corpora: records of one or several texts, read one after the other from line-aligned files, TSV or JSONL.
// What is wrong in them is counted with the first place where it was found, or refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::data {

enum class CorpusFormat { lines, tsv, jsonl, text };

// By the name's ending (.tsv, .jsonl), else `otherwise`.
CorpusFormat format_of(const std::string& path, CorpusFormat otherwise);

enum class Faulty { refuse, skip, keep };  // keep: for empty texts only

struct CorpusOptions {
  std::vector<std::string>
      files;  // lines: one for each text of a record; tsv, jsonl: any number, read in turn
  CorpusFormat format = CorpusFormat::lines;
  // One for each text of a record. tsv: numbers from 1, or names in the first line, which is then a header;
  // jsonl: names.
  std::vector<std::string> columns{};
  Faulty empty = Faulty::skip;  // a record with an empty text (spaces only)
  Faulty bad_utf8 = Faulty::refuse;
  bool header = false;                // tsv: the first line of each file names its columns
  bool normalize_whitespace = false;  // of each text: regard::normalize_whitespace()
  std::size_t max_characters = 0;     // a record with a longer text is left out; 0: any length
};

// What was left out, and where it was first seen.
struct CorpusReport {
  std::int64_t records = 0;  // returned
  std::int64_t empty = 0, bad_utf8 = 0, too_long = 0;
  Place first_empty, first_bad_utf8, first_too_long;

  // Adds what was read after this.
  void add(const CorpusReport& later);
  // "29000 records; 2 empty left out (first: FILE:LINE)".
  std::string text() const;
};

class CorpusReader {
 public:
  // Throws usage: columns that cannot be; io: a file that cannot be opened.
  explicit CorpusReader(CorpusOptions options);
  ~CorpusReader();

  // The next record, one text for each file or column; false at the end. Throws bad_file with file and line:
  // files of unequal length, missing columns, broken JSON, and what is to be refused.
  bool next(std::vector<std::string>& texts);

  const CorpusReport& report() const { return report_; }
  std::size_t width() const { return width_; }  // texts a record

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
  std::size_t header_width_ = 0;             // columns of the header of the file being read; 0: no header
  std::vector<std::unique_ptr<Source>> sources_;
  std::size_t current_ = 0;  // tsv, jsonl: the file being read
  CorpusReport report_;
};

// Plain text as it is, files one after the other. Lines that are not UTF-8 are refused, or left out and
// counted.
std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report);

}  // namespace regard::data
