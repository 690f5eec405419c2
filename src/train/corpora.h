// Readers of the corpora named in a run file, as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "train/run_config.h"

namespace regard::train {

// The format of a corpus file: data.format or, if that is not set, from the file name.
data::CorpusFormat corpus_format(const RunConfig& config, const std::string& file);

// How a task reads files.
struct CorpusRules {
  data::CorpusFormat plain = data::CorpusFormat::lines;  // format of files whose names do not tell it
  bool aligned = true;  // line i of all files of lines is one record; false: the files are read in turn
  bool normalizes_whitespace = false;  // data.normalize_whitespace applies
  bool limits_length = false;          // data.max_length applies
};

// Whether the training data is a table, whose rows have columns.
bool is_tabular(const RunConfig& config);

// Whether the training data is running text rather than records.
bool is_plain_text(const RunConfig& config);

// Reads the records of a run's files in order, as the task's CorpusRules say. The configuration must outlive
// the reader.
class RecordReader {
 public:
  // Throws as CorpusReader does.
  RecordReader(const RunConfig& config, const std::vector<std::string>& files);
  bool next();  // read the next record into texts(); false at the end
  const std::vector<std::string>& texts() const { return texts_; }
  // Whether data.valid_fraction assigns the record to validation. Decided by a hash of its first text, so
  // that all translations of a sentence are in the same part. Always false if data.valid is set.
  bool held_out() const;
  data::CorpusReport report() const;  // of everything read so far

 private:
  const RunConfig& config_;
  std::vector<std::vector<std::string>> groups_;  // files of one CorpusReader; groups are read in order
  std::size_t current_ = 0;                       // index of the current group
  std::unique_ptr<data::CorpusReader> reader_;
  data::CorpusReport read_;  // of the groups before the current one
  std::vector<std::string> texts_;
};

// Whether data.valid_fraction assigns a record with this first text to validation, by a hash of the text.
// Always false if data.valid is set.
bool is_held_out(const RunConfig& config, const std::string& text);

struct TextSplit {
  std::string train, valid;
  data::CorpusReport report;  // of all files
};
// Read the running text of a run. Without data.valid, the last data.valid_fraction of the characters is the
// validation text.
TextSplit read_plain_text(const RunConfig& config);

}  // namespace regard::train
