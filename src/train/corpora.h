// The corpora that a run file names, as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "train/run_config.h"

namespace regard::train {

// The form of a file of the run: data.format, or by its name.
data::CorpusFormat corpus_format(const RunConfig& config, const std::string& file);

// Whether the run reads running text rather than records.
bool is_plain_text(const RunConfig& config);

// The records of a run's files, one after the other. Files of lines correspond for a translation; a language
// model reads them in turn. The configuration must outlive it.
class RecordReader {
 public:
  // Throws as CorpusReader does.
  RecordReader(const RunConfig& config, const std::vector<std::string>& files);
  bool next();  // false at the end
  const std::vector<std::string>& texts() const { return texts_; }
  // Whether data.valid_fraction has the record for validation: by a hash of its first text, so that a
  // sentence with several translations is wholly on one side.
  bool held_out() const;
  data::CorpusReport report() const;  // of all files read so far

 private:
  const RunConfig& config_;
  double held_out_fraction_;
  std::vector<std::vector<std::string>> groups_;  // files that are read together, in turn
  std::size_t current_ = 0;                       // of the groups
  std::unique_ptr<data::CorpusReader> reader_;
  data::CorpusReport read_;  // of the groups before
  std::vector<std::string> texts_;
};

struct TextSplit {
  std::string train, valid;
  data::CorpusReport report;  // of all files
};
// Without data.valid the last data.valid_fraction of the characters is for validation.
TextSplit read_plain_text(const RunConfig& config);

}  // namespace regard::train
