// Rows of text with labels, from the corpora of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/corpora.h"

namespace regard::train {

enum class Problem { single_label, multi_label, regression };
Problem problem_of(const std::string& problem_type);  // a value of labels.problem_type

struct LabeledRows {
  std::vector<std::string> first, second;  // second: empty unless the rows are pairs
  // Regression: values, one for each row. Otherwise labels: the names for each row, exactly one for
  // single_label.
  std::vector<std::vector<std::string>> labels;
  std::vector<float> values;

  std::string text(std::size_t row) const {  // of a pair: both, separated by " | "
    return second.empty() ? first[row] : first[row] + " | " + second[row];
  }
  std::vector<std::string> texts(std::size_t row) const {
    return second.empty() ? std::vector{first[row]} : std::vector{first[row], second[row]};
  }
  Place place(std::size_t row) const { return {files[file[row]], line[row], -1}; }

  std::vector<std::string> files;  // names
  std::vector<std::size_t> file;   // of each row, an index of `files`
  std::vector<std::int64_t> line;  // of each row
};

struct RowSplit {
  LabeledRows train, valid;
  data::RowReport train_report, valid_report;  // of the files; the same if data.valid is not set
  std::string duplicates;  // rows with the same texts in both, as a note; "" if there is none
};

// Read data.train and data.valid. Columns are one or two texts and then the label. A file of plain text has
// the label before the first white space of each line ("LABEL TEXT"). Throws as data::TableReader does;
// bad_file with the row for a missing label, and for an empty text if data.empty_lines refuses it.
RowSplit read_labeled_rows(const RunConfig& config, Problem problem);

// Throws usage unless data.columns, or the number of line-aligned files, fits the rows above.
void check_label_columns(const RunConfig& config);

// Return the labels of the rows, sorted, each once.
std::vector<std::string> labels_of(const LabeledRows& rows);

}  // namespace regard::train
