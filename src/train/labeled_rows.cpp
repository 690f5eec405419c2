#include "train/labeled_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/counted.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "data/duplicates.h"

namespace regard::train {
namespace {

// Reads the rows of the training files or of the validation files into a RowSplit.
class RowReader {
 public:
  RowReader(const RunConfig& config, Problem problem, const std::vector<std::string>& files)
      : config_(config), problem_(problem), table_(table_options(config, files)) {}

  // Read all rows. choose(text) must return the part of the split (training or validation) for a row whose
  // first text is `text`.
  template <class Choose>
  data::RowReport read(Choose&& choose) {
    while (table_.next(row_)) {
      const bool added =
          is_readable([&] { read_texts(); }) && keep() && is_readable([&] { add(choose(texts_[0])); });
      if (!added) --table_.report().records;
    }
    table_.report().refuse_more_than(config_.data.max_skipped, "data.max_skipped");
    return table_.report();
  }

 private:
  template <class Read>
  bool is_readable(Read&& read) {
    return table_.report().read_or_skip(table_.options().malformed, row_, read);
  }

  void read_texts() {
    label_column_ = row_.size() - 1;
    texts_.clear();
    if (row_.size() == 1) return split_line();
    for (std::size_t i = 0; i < label_column_; ++i) texts_.push_back(row_.text(i));
  }

  // Split a line "LABEL TEXT" into label and text.
  void split_line() {
    const std::string& line = row_.text(0);
    const std::size_t end = line.find_first_of(" \t");
    label_ = line.substr(0, end);
    texts_.push_back(line.substr(std::min(line.find_first_not_of(" \t", end), line.size())));
    if (is_blank(label_)) throw row_.error(0, "the line has no label before its text").expected("LABEL TEXT");
  }

  bool keep() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!is_blank(texts_[i])) continue;
      if (config_.data.empty_lines == "refuse")
        throw row_.error(row_.size() == 1 ? 0 : i, "the text is empty")
            .remedy("Remove the row, or leave such rows out with data.empty_lines = \"skip\"");
      table_.report().skip(data::SkipReason::empty, row_.place());
      return false;
    }
    return true;
  }

  void add(LabeledRows& rows) {
    add_label(rows);
    rows.first.push_back(texts_[0]);
    if (texts_.size() > 1) rows.second.push_back(texts_[1]);
    if (rows.files.empty() || rows.files.back() != row_.file()) rows.files.push_back(row_.file());
    rows.file.push_back(rows.files.size() - 1);
    rows.line.push_back(row_.line());
    rows.sources.set(table_.file_index(), rows.first.size());
  }

  void add_label(LabeledRows& rows) {
    const bool in_line = row_.size() == 1;
    if (problem_ == Problem::regression) {
      const double value = in_line ? number_of(label_) : row_.number(label_column_);
      if (std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max()))
        throw row_.error(label_column_, "the label is too large for 32-bit floating point")
            .found(fmt::format("{}", value))
            .expected("a number between -3.4e38 and 3.4e38");
      rows.values.push_back(static_cast<float>(value));
      return;
    }
    std::vector<std::string> names;
    if (problem_ == Problem::multi_label && !in_line) {
      names = row_.words(label_column_);
    } else {
      names.push_back(in_line ? label_ : row_.text(label_column_));
    }
    for (std::string& name : names) {
      if (!config_.labels.until.empty()) name = name.substr(0, name.find(config_.labels.until));
      if (is_blank(name))
        throw row_.error(label_column_, "the label is empty").remedy("Correct the row, or remove it");
    }
    rows.labels.push_back(std::move(names));
  }

  double number_of(const std::string& text) const {
    const auto value = parse_number<double>(text);
    if (!value || !std::isfinite(*value))
      throw row_.error(0, "the label is not a number").found("'" + text + "'");
    return *value;
  }

  const RunConfig& config_;
  Problem problem_;
  data::TableReader table_;
  data::TableRow row_;
  std::size_t label_column_ = 0;
  std::string label_;
  std::vector<std::string> texts_;
};

}  // namespace

Problem problem_of(const std::string& problem_type) {
  if (problem_type == "regression") return Problem::regression;
  return problem_type == "multi_label_classification" ? Problem::multi_label : Problem::single_label;
}

RowSplit read_labeled_rows(const RunConfig& config, Problem problem) {
  RowSplit split;
  RowReader train(config, problem, config.data.train);
  split.train_report = train.read([&](const std::string& text) -> LabeledRows& {
    return is_held_out(config, text) ? split.valid : split.train;
  });
  split.valid_report = split.train_report;
  if (config.data.valid.empty()) return split;
  RowReader valid(config, problem, config.data.valid);
  split.valid_report = valid.read([&](const std::string&) -> LabeledRows& { return split.valid; });
  data::SplitDuplicates duplicates;
  for (std::size_t row = 0; row < split.valid.first.size(); ++row)
    duplicates.add_validation(split.valid.texts(row), split.valid.place(row));
  for (std::size_t row = 0; row < split.train.first.size(); ++row)
    duplicates.check_training(split.train.texts(row), split.train.place(row));
  split.duplicates = duplicates.text();
  return split;
}

void check_label_columns(const RunConfig& config) {
  for (const auto* files : {&config.data.train, &config.data.valid}) {
    if (files->empty()) continue;
    const data::TableFormat format = corpus_format(config, files->front());
    if (format == data::TableFormat::text) continue;
    const bool aligned = format == data::TableFormat::lines;
    const std::size_t columns = aligned ? files->size() : corpus_columns(config, files->front()).size();
    if (columns == 2 || columns == 3) continue;
    throw usage_error(aligned ? "the number of line-aligned files does not fit the task"
                              : fmt::format("'{}' must name the columns of the text and of the label",
                                            corpus_columns_key(config, files->front())))
        .found(counted(columns, aligned ? "file" : "column"))
        .expected(aligned ? "a file of texts, optionally a file of second texts, and a file of labels"
                          : "two columns, such as [\"sentence\", \"label\"], or three columns for pairs of "
                            "texts, such as [1, 2, 3]");
  }
}

std::vector<std::string> labels_of(const LabeledRows& rows) {
  std::set<std::string> names;
  for (const auto& labels : rows.labels) names.insert(labels.begin(), labels.end());
  return {names.begin(), names.end()};
}

}  // namespace regard::train
