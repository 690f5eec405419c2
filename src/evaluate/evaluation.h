// Types for the evaluation of models: each task has one function, which returns an Evaluation.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/placed.h"
#include "base/thread_pool.h"
#include "data/data_files.h"
#include "infer/loaded_model.h"
#include "metrics/significance.h"
#include "ops/probe.h"
#include "regard/error.h"

namespace regard::evaluate {

// The row statistics from which a score is computed, and a function that returns a scorer for such
// statistics. The scorer computes the score of a sample of rows, for confidence intervals and significance
// tests.
using Table = std::vector<std::vector<float>>;
struct RowStatistics {
  Table rows;
  // function that returns a scorer; empty if the score cannot be resampled
  std::function<metrics::Scorer(Table)> scorer;
};
// Return row statistics for two common kinds of score. sums(): `score` is called with the sum of each
// statistic over the rows. mean(): the score is `factor` times the mean of the rows' first statistic.
RowStatistics sums(Table rows, std::function<double(std::span<const double>)> score);
RowStatistics mean(Table rows, double factor = 1);

struct Score {
  std::string name;  // name of the metric, used as its key in JSON
  double value = 0;
  RowStatistics statistics;
};

struct EvaluatedRow {
  Place place;  // file and line of the row
  Json input, expected, output;
  // Score of this row alone. Default: NaN, for evaluations whose rows have no scores.
  double score = std::numeric_limits<double>::quiet_NaN();
};

struct Evaluation {
  std::string task;
  Json facts = Json::object();     // counts, settings and signatures by name
  std::vector<Score> scores;       // metrics, with the statistics for resampling
  Json details = Json::object();   // results other than `scores`, such as the confusion matrix
  std::vector<std::string> lines;  // the results as text
  std::vector<EvaluatedRow> rows;  // rows in the order of the data
  std::string row_score;           // name of the metric in EvaluatedRow::score
  // labels of a classifier, sorted; the row statistics refer to a label by its index in this list
  std::vector<std::string> labels;

  void fact(const std::string& name, Json value) { facts[name] = std::move(value); }
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    lines.push_back(fmt::format(format, std::forward<Values>(values)...));
  }
};

using DataOptions = data::DataFiles;
using data::open_table;

// Return the error for data without rows.
Error nothing_to_evaluate(const DataOptions& data);

// Arguments common to the functions of all tasks.
struct Subject {
  infer::LoadedModel& model;
  ThreadPool& pool;
  Probe* probe = nullptr;  // called in every forward pass; may scale attention heads; may be null; not owned

  // Return model.options with `probe` added.
  infer::SearchOptions search() const;
};

}  // namespace regard::evaluate
