// Reads the corpora that a run file names, as records of texts that are not tokenized yet.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/corpus.h"
#include "data/table.h"
#include "train/run_config.h"

namespace regard::train {

// Return the format of a corpus file: data.format (or data.valid_format for a validation file) or, if that is
// not set, the format of the file's extension.
data::CorpusFormat corpus_format(const RunConfig& config, const std::string& file);

// Rules by which a task reads its files.
struct CorpusRules {
  data::CorpusFormat plain = data::CorpusFormat::lines;  // format of files with an unknown extension
  // If true, files of lines are line-aligned: line i of all files forms one record. If false, each line is a
  // record, and the files are read one after another.
  bool aligned = true;
  bool normalizes_whitespace = false;  // true if the key data.normalize_whitespace has an effect
  bool limits_length = false;          // true if the key data.max_length has an effect
  std::size_t files_of_lines = 0;      // number of line-aligned files per corpus; 0 means all files
  bool folders = false;                // true if data.train and data.valid may name folders
};

// Convert the value of a key such as data.malformed, which is "skip" or "refuse".
data::Faulty faulty(const std::string& value);

// Return the columns that the run reads from a file: data.columns or data.valid_columns.
const std::vector<std::string>& corpus_columns(const RunConfig& config, const std::string& file);
// Return the name of the key that sets corpus_columns(): "data.columns" or "data.valid_columns".
const char* corpus_columns_key(const RunConfig& config, const std::string& file);

// Return true if the training data is a table, whose rows are divided into columns.
bool is_tabular(const RunConfig& config);

// Throws usage if the training or validation data is a table and the run does not name exactly one column for
// the text.
void check_text_column(const RunConfig& config);

// Return true if the training data is running text rather than records.
bool is_plain_text(const RunConfig& config);

// Divide the files of data.train or data.valid into corpora. A corpus is a single file (a table, running
// text, or lines that are not aligned), a folder of images, or a group of line-aligned files or IDX files.
std::vector<std::vector<std::string>> corpora_of(const RunConfig& config,
                                                 const std::vector<std::string>& files);

// Return the options for reading files of the run as tables. Depending on data.empty_lines, empty lines are
// an error or skipped.
data::TableOptions table_options(const RunConfig& config, const std::vector<std::string>& files);

// Reads the records of a run's files in order, by the CorpusRules of the task. data.valid_format,
// data.valid_columns and data.valid_header apply to the files in data.valid that are not also in data.train.
class RecordReader {
 public:
  // The configuration must outlive the reader. Throws as CorpusReader does.
  RecordReader(const RunConfig& config, const std::vector<std::string>& files);
  // Read the next record into texts(). Returns false at the end. Throws bad_file at the end if the fraction
  // of skipped rows is above data.max_skipped.
  bool next();
  const std::vector<std::string>& texts() const { return texts_; }
  // Return true if data.valid_fraction assigns the record to validation; always false if data.valid is set.
  // The choice depends on a hash of the first text, so all translations of a sentence are assigned together.
  bool held_out() const;
  data::CorpusReport report() const;                // numbers of records and skipped rows read so far
  Place place() const { return reader_->place(); }  // place of the last record read
  std::size_t corpus() const { return current_; }   // index of the last record's corpus in corpora_of()
  std::size_t corpora() const { return groups_.size(); }

 private:
  const RunConfig& config_;
  // groups of files, which are read in order; one CorpusReader reads each group
  std::vector<std::vector<std::string>> groups_;
  std::size_t current_ = 0;  // index in groups_ of the group that is being read
  bool validation_ = false;  // true if the files are in data.valid but not in data.train
  std::unique_ptr<data::CorpusReader> reader_;
  data::CorpusReport read_;  // report on the file groups before groups_[current_]
  std::vector<std::string> texts_;
};

// Return true if data.valid_fraction assigns a record with this first text to validation, based on a hash of
// the text. Always false if data.valid is set.
bool is_held_out(const RunConfig& config, const std::string& text);

// The running text of a run, read in pieces. Without data.valid, the validation text is the end of the
// training text: the fraction data.valid_fraction of its characters.
class PlainText {
 public:
  enum class Part { train, valid };
  // The configuration must outlive the object. Throws as data::TextReader does.
  explicit PlainText(const RunConfig& config);

  // Call `take` with the pieces of the training or validation text, in order.
  void read(Part part, const std::function<void(std::string_view)>& take);
  // Call `take` with the pieces of the file data.train[file], in order. Call this only if data.valid is set.
  void read_file(std::size_t file, const std::function<void(std::string_view)>& take);
  // Return the report on all files. Call this after the training text and the validation text have been read.
  const data::CorpusReport& report() const { return report_; }

 private:
  const RunConfig& config_;
  bool split_;
  std::size_t kept_ = 0;  // number of characters for training; used only if split_ is set
  data::CorpusReport report_;
};

struct TextSplit {
  std::string train, valid;
  data::CorpusReport report;  // report on all files that were read
};
// Return the complete running text of a run.
TextSplit read_plain_text(const RunConfig& config);

}  // namespace regard::train
