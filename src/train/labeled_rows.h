// Reads rows of one or two texts with their labels or a number, for classification and regression.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/weighted_sources.h"
#include "train/corpora.h"

namespace regard::train {

enum class Problem { single_label, multi_label, regression };
// Return the Problem for a value of labels.problem_type.
Problem problem_of(const std::string& problem_type);

struct LabeledRows {
  std::vector<std::string> first, second;  // `second` is empty unless the rows are pairs of texts
  // For regression, `values` has one number per row. Otherwise, `labels` has the names of each row's labels;
  // for single_label, exactly one name.
  std::vector<std::vector<std::string>> labels;
  std::vector<float> values;

  std::string text(std::size_t row) const {  // text of a row; for a pair, both texts separated by " | "
    return second.empty() ? first[row] : first[row] + " | " + second[row];
  }
  std::vector<std::string> texts(std::size_t row) const {
    return second.empty() ? std::vector{first[row]} : std::vector{first[row], second[row]};
  }
  Place place(std::size_t row) const { return {files[file[row]], line[row], -1}; }

  std::vector<std::string> files;  // names of the files
  std::vector<std::size_t> file;   // index in `files` for each row
  std::vector<std::int64_t> line;  // line number of each row
  data::SourceCounter sources;     // number of rows of each file, or of each group of line-aligned files
};

struct RowSplit {
  LabeledRows train, valid;
  // reports on the training and validation files; equal if data.valid is not set
  data::RowReport train_report, valid_report;
  std::string duplicates;  // message about texts that occur in both training and validation data; may be ""
};

// Read data.train and data.valid. The columns are one or two texts and then the label. In a file of plain
// text, the label is before the first white space of each line ("LABEL TEXT"). Throws as data::TableReader
// does. Throws bad_file with the row if the label is missing or, for regression, not a number. Throws
// bad_file with the row if a text is empty and data.empty_lines is "refuse". Throws bad_file if the fraction
// of skipped rows is above data.max_skipped.
RowSplit read_labeled_rows(const RunConfig& config, Problem problem);

// Throws usage if data.columns or the number of line-aligned files does not match the columns that
// read_labeled_rows() requires.
void check_label_columns(const RunConfig& config);

// Return the sorted labels of the rows, without duplicates.
std::vector<std::string> labels_of(const LabeledRows& rows);

}  // namespace regard::train
