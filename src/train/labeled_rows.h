// Rows of text with labels, from the corpora of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/corpora.h"

namespace regard::train {

enum class Problem { single_label, multi_label, regression };
Problem problem_of(const std::string& problem_type);  // converts a value of labels.problem_type

struct LabeledRows {
  std::vector<std::string> first, second;  // `second` is empty unless the rows are pairs
  // For regression, `values` has one number for each row. Otherwise `labels` has the label names of each
  // row; exactly one for single_label.
  std::vector<std::vector<std::string>> labels;
  std::vector<float> values;

  std::string text(std::size_t row) const {  // for a pair: both texts, separated by " | "
    return second.empty() ? first[row] : first[row] + " | " + second[row];
  }
  std::vector<std::string> texts(std::size_t row) const {
    return second.empty() ? std::vector{first[row]} : std::vector{first[row], second[row]};
  }
  Place place(std::size_t row) const { return {files[file[row]], line[row], -1}; }

  std::vector<std::string> files;  // names
  std::vector<std::size_t> file;   // for each row, an index into `files`
  std::vector<std::int64_t> line;  // line number of each row
};

struct RowSplit {
  LabeledRows train, valid;
  data::RowReport train_report, valid_report;  // reports on the files; equal if data.valid is not set
  std::string duplicates;  // a note on rows with the same texts in both parts; "" if there are none
};

// Read data.train and data.valid. Columns are one or two texts and then the label. A file of plain text has
// the label before the first white space of each line ("LABEL TEXT"). Throws as data::TableReader does, and
// bad_file with the row for a missing label, or for an empty text if data.empty_lines refuses it.
RowSplit read_labeled_rows(const RunConfig& config, Problem problem);

// Throws usage unless data.columns, or the number of line-aligned files, matches the columns described
// above.
void check_label_columns(const RunConfig& config);

// Return the sorted labels of the rows, without duplicates.
std::vector<std::string> labels_of(const LabeledRows& rows);

}  // namespace regard::train
