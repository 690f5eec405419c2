// The corpora that a run file names, as text.
#pragma once

#include <string>
#include <vector>

#include "data/corpus.h"
#include "train/run_config.h"

namespace regard::train {

// Whether the run reads running text rather than records.
bool is_plain_text(const RunConfig& config);

// The records of a run's files, one after the other.
class RecordReader {
 public:
  // Throws as CorpusReader does.
  RecordReader(const RunConfig& config, const std::vector<std::string>& files);
  bool next();  // false at the end
  const std::vector<std::string>& texts() const { return texts_; }
  // Whether data.valid_fraction has the record for validation: by a hash of its first text, so that a
  // sentence with several translations is wholly on one side.
  bool held_out() const;
  const data::CorpusReport& report() const { return reader_.report(); }

 private:
  double held_out_fraction_;
  data::CorpusReader reader_;
  std::vector<std::string> texts_;
};

struct TextSplit {
  std::string train, valid;
};
// Without data.valid the last data.valid_fraction of the characters is for validation.
TextSplit read_plain_text(const RunConfig& config);

}  // namespace regard::train
