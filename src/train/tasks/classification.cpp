#include "train/tasks/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/hash.h"
#include "data/preview.h"
#include "metrics/classification.h"
#include "metrics/correlation.h"
#include "ops/binary_cross_entropy.h"
#include "ops/squared_error.h"
#include "train/batch_preview.h"
#include "train/confusion.h"
#include "train/encoder_task.h"
#include "train/label_loss.h"
#include "train/label_set.h"
#include "train/labeled_rows.h"
#include "train/r_drop.h"

namespace regard::train {
namespace {

constexpr MetricKind kMatthews{"matthews", "Matthews", 4, true};

class Classification : public EncoderTask {
 public:
  explicit Classification(const RunConfig& config)
      : EncoderTask(config), problem_(problem_of(config.labels.problem_type)) {}

  const TaskTraits& traits() const override { return classification_traits(); }
  void check() const override;
  void read() override {
    rows_ = read_labeled_rows(config_, problem_);
    if (problem_ == Problem::regression) return;
    labels_ = choose_labels(config_.labels, labels_of(rows_.train), problem_ == Problem::single_label ? 2 : 1,
                            config_.data.train[0]);
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    const auto logits = [&] { return head_output(model, tape, batch); };
    if (options.r_drop == 0.0f) return loss_of(tape, logits(), batch, options);
    return r_drop_loss(tape, batch.labels, options, logits,
                       [&](Var one, const LossOptions& half) { return loss_of(tape, one, batch, half); });
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::string example_text(const Batch& batch) const override;
  std::string preview(const Batch& batch, std::size_t sequence) const override;

 protected:
  HeadNeed head() const override {
    const bool regression = problem_ == Problem::regression;
    return {"ForSequenceClassification", Output::sequence_classes,
            regression ? std::vector<std::string>{"LABEL_0"} : labels_.names(), config_.labels.problem_type};
  }
  std::size_t training_examples() const override { return train_.examples.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t, std::uint64_t index) const override {
    append(train_, batch, example, index);
  }
  text::LineSource training_texts() const override {
    return [this, at = std::size_t{0}](std::string& line) mutable {
      const std::size_t count = rows_.train.first.size();
      if (at == count + rows_.train.second.size()) return false;
      line = at < count ? rows_.train.first[at] : rows_.train.second[at - count];
      ++at;
      return true;
    };
  }

 private:
  // Encoded rows with their targets. The target of a row is one id in `labels`, or columns() numbers in
  // `values`.
  struct Part {
    Examples examples;
    std::vector<std::int32_t> labels;
    std::vector<float> values;
  };
  struct Predictions {
    std::vector<std::int32_t> labels;  // id of the predicted label of each row, for single_label
    std::vector<float> values;         // label probabilities (multi_label) or numbers (regression)
    std::vector<float> probabilities;  // probability of the predicted label of each row, for single_label
    double loss = 0, weight = 0;
  };

  std::size_t columns() const { return problem_ == Problem::regression ? 1 : labels_.size(); }
  Part encode(const LabeledRows& rows, const text::Tokenizer& tokenizer, ThreadPool& pool);
  void set_weights();
  void append(const Part& part, Batch& batch, std::size_t example, std::uint64_t index) const;
  Var loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options) const;
  Predictions predict(Network& model, const PassResources& resources) const;
  void take(const Tensor& logits, Predictions& predictions) const;
  void measure(const Predictions& predictions, ValidationReport& report) const;
  void measure_labels(const Predictions& predictions, ValidationReport& report) const;
  std::string names_of(const float* indicators) const;
  std::string prediction_text(const Predictions& predictions, std::size_t row) const;
  std::string truth_text(std::size_t row) const;
  std::string label_text(const Batch& batch, std::size_t sequence) const;

  Problem problem_;
  RowSplit rows_;
  LabelSet labels_;
  std::vector<float> weights_;  // weight of each label; empty if all are 1
  Part train_, valid_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

void Classification::check() const {
  EncoderTask::check();
  check_label_columns(config_);
  const LabelConfig& labels = config_.labels;
  const bool regression = problem_ == Problem::regression;
  for (const std::string& metric : config_.validation.metrics) {
    const bool of_numbers = metric == kPearson.name || metric == kSpearman.name;
    const bool of_one = metric == kMatthews.name;
    if (metric == kLoss.name || (of_numbers == regression && (!of_one || problem_ == Problem::single_label)))
      continue;
    throw usage_error("'validation.metrics' contains '" + metric +
                      "', which is not defined for the problem type '" + labels.problem_type + "'")
        .remedy("Remove the metric");
  }
  if (config_.training.label_smoothing > 0 && problem_ != Problem::single_label)
    throw usage_error("'training.label_smoothing' requires exactly one label per text")
        .found("problem_type = \"" + labels.problem_type + "\"")
        .expected("problem_type = \"single_label_classification\"");
  if (config_.training.r_drop > 0 && problem_ != Problem::single_label)
    throw usage_error("'training.r_drop' requires exactly one label per text")
        .found("problem_type = \"" + labels.problem_type + "\"")
        .expected("problem_type = \"single_label_classification\"");
  check_labels(labels);
}

// If the run file lists no labels and the folder's classifier has all labels of the data, use the folder's
// labels in their order.
std::unique_ptr<Network> Classification::load_model(const formats::ModelFolder& folder) {
  if (problem_ != Problem::regression)
    labels_ = ordered_as(labels_, config_.labels, label_names(folder.config));
  return EncoderTask::load_model(folder);
}

Classification::Part Classification::encode(const LabeledRows& rows, const text::Tokenizer& tokenizer,
                                            ThreadPool& pool) {
  Part part;
  part.examples = encode_examples(tokenizer, rows.first, rows.second, config_.data.max_length, pool);
  part.values = rows.values;
  for (std::size_t row = 0; row < part.examples.size(); ++row)
    if (part.examples.ids.length(row) == 0)
      throw Error(ErrorKind::bad_file, "the text has no tokens", rows.place(row))
          .found("\"" + rows.text(row) + "\"")
          .remedy("Remove the row, or use a tokenizer that knows its characters");
  if (problem_ == Problem::regression) return part;
  const bool given = !config_.labels.names.empty();
  for (std::size_t row = 0; row < rows.labels.size(); ++row) {
    if (problem_ == Problem::single_label) {
      part.labels.push_back(labels_.id_of(rows.labels[row].at(0), rows.place(row), given));
      continue;
    }
    part.values.resize(part.values.size() + labels_.size(), 0.0f);
    float* indicators = part.values.data() + part.values.size() - labels_.size();
    for (const std::string& label : rows.labels[row])
      indicators[labels_.id_of(label, rows.place(row), given)] = 1.0f;
  }
  return part;
}

void Classification::set_weights() {
  if (problem_ == Problem::regression) return;
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::int32_t label : train_.labels) ++counts[static_cast<std::size_t>(label)];
  for (std::size_t i = 0; i < train_.values.size(); ++i)
    if (train_.values[i] != 0.0f) ++counts[i % labels_.size()];
  weights_ = label_weights(config_.labels, labels_, counts, notes_);
}

void Classification::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  sources_ = rows_.train.sources;
  train_ = encode(rows_.train, *tokenizer_, pool);
  valid_ = encode(rows_.valid, *tokenizer_, pool);
  for (const auto& [what, part, report] : {std::tuple("training", &train_, &rows_.train_report),
                                           std::tuple("validation", &valid_, &rows_.valid_report)}) {
    std::string note = fmt::format("{}: {}, {}; read {}", what, counted(part->examples.size(), "example"),
                                   counted(part->examples.ids.tokens(), "token"), report->text());
    if (part->examples.truncated > 0)
      note += fmt::format("; {} truncated to {}", part->examples.truncated,
                          counted(config_.data.max_length, "token"));
    notes_.push_back(note);
    fingerprint_ = fingerprint_ * 3 + part->examples.ids.fingerprint();
    fingerprint_ = fingerprint_ * 3 + xxh3(std::as_bytes(std::span(part->labels)));
    fingerprint_ = fingerprint_ * 3 + xxh3(std::as_bytes(std::span(part->values)));
  }
  if (!rows_.duplicates.empty()) notes_.push_back(rows_.duplicates);
  if (train_.examples.size() == 0) throw nothing_left(config_, "train");
  if (valid_.examples.size() == 0) throw nothing_left(config_, "validate");
  set_weights();
}

void Classification::append(const Part& part, Batch& batch, std::size_t example, std::uint64_t index) const {
  part.examples.append(batch, example, index);
  if (problem_ == Problem::single_label) {
    const std::int32_t label = part.labels[example];
    batch.labels.push_back(label);
    if (!weights_.empty()) batch.label_weights.push_back(weights_[static_cast<std::size_t>(label)]);
    return;
  }
  const auto values = part.values.begin() + static_cast<std::ptrdiff_t>(example * columns());
  batch.values.insert(batch.values.end(), values, values + static_cast<std::ptrdiff_t>(columns()));
}

Var Classification::loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options) const {
  if (problem_ == Problem::single_label) return label_loss(tape, logits, batch, weights_, options);
  const Tensor targets = tape.arena().tensor(logits->value.shape());
  std::copy(batch.values.begin(), batch.values.end(), targets.f32());
  return problem_ == Problem::multi_label ? ops::binary_cross_entropy(tape, logits, targets, options.factor)
                                          : ops::squared_error(tape, logits, targets, options.factor);
}

// Append the predictions of a group of examples. `logits` is [sequences, columns].
void Classification::take(const Tensor& logits, Predictions& predictions) const {
  const auto width = static_cast<std::size_t>(logits.columns());
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    const std::span<const float> row(logits.row(i), width);
    if (problem_ == Problem::single_label) {
      const auto best = std::max_element(row.begin(), row.end());
      double sum = 0;
      for (const float x : row) sum += std::exp(static_cast<double>(x) - static_cast<double>(*best));
      predictions.labels.push_back(static_cast<std::int32_t>(best - row.begin()));
      predictions.probabilities.push_back(static_cast<float>(1.0 / sum));
      continue;
    }
    for (const float x : row)
      predictions.values.push_back(problem_ == Problem::regression
                                       ? x
                                       : static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))));
  }
}

Classification::Predictions Classification::predict(Network& model, const PassResources& resources) const {
  Predictions predictions;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.examples.ids, [&](Batch& batch, std::size_t i) { append(valid_, batch, i, i); },
      [&](Tape& tape, const Batch& batch, std::size_t, std::size_t) {
        Var logits = head_output(model, tape, batch);
        take(logits->value, predictions);
        predictions.loss += static_cast<double>(loss_of(tape, logits, batch, {})->value.f32()[0]);
        predictions.weight += batch.weight();
      });
  return predictions;
}

void Classification::measure_labels(const Predictions& predictions, ValidationReport& report) const {
  const auto classes = static_cast<std::int32_t>(labels_.size());
  const auto add = [&](const MetricKind& kind, double value) {
    if (config_.wants(kind.name)) report.metrics.push_back({kind, value});
  };
  if (problem_ == Problem::single_label) {
    set_confusion(predictions.labels, valid_.labels, labels_, report);
    add(kAccuracy, metrics::accuracy(predictions.labels, valid_.labels));
    add(kMacroF1,
        metrics::precision_recall(predictions.labels, valid_.labels, classes, metrics::Average::macro).f1);
    add(kMatthews, metrics::matthews(predictions.labels, valid_.labels, classes));
    return;
  }
  // The metrics of multi-label classification are the subset accuracy (fraction of rows whose labels are all
  // correct) and the macro F1. The F1 of a label is 2 · true positives / (predicted + true).
  const std::size_t rows = valid_.examples.size(), width = labels_.size();
  std::vector<double> both(width), either(width);
  std::int64_t right = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    bool same = true;
    for (std::size_t label = 0; label < width; ++label) {
      const bool predicted = predictions.values[row * width + label] > 0.5f;
      const bool truth = valid_.values[row * width + label] != 0.0f;
      same = same && predicted == truth;
      both[label] += predicted && truth ? 1 : 0;
      either[label] += (predicted ? 1 : 0) + (truth ? 1 : 0);
    }
    right += same ? 1 : 0;
  }
  double f1 = 0;
  for (std::size_t label = 0; label < width; ++label)
    f1 += either[label] == 0 ? 0.0 : 2 * both[label] / either[label];
  add(kAccuracy, static_cast<double>(right) / static_cast<double>(rows));
  add(kMacroF1, f1 / static_cast<double>(width));
}

void Classification::measure(const Predictions& predictions, ValidationReport& report) const {
  if (problem_ != Problem::regression) return measure_labels(predictions, report);
  const std::vector<double> predicted(predictions.values.begin(), predictions.values.end());
  const std::vector<double> truth(valid_.values.begin(), valid_.values.end());
  if (config_.wants(kPearson.name)) report.metrics.push_back({kPearson, metrics::pearson(predicted, truth)});
  if (config_.wants(kSpearman.name))
    report.metrics.push_back({kSpearman, metrics::spearman(predicted, truth)});
}

// Return the names of the labels whose indicator is above 0.5, separated by commas.
std::string Classification::names_of(const float* indicators) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < labels_.size(); ++i)
    if (indicators[i] > 0.5f) names.push_back(labels_.names()[i]);
  return names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", "));
}

std::string Classification::prediction_text(const Predictions& predictions, std::size_t row) const {
  if (problem_ == Problem::single_label)
    return fmt::format("{} ({:.2f})", labels_[predictions.labels[row]], predictions.probabilities[row]);
  return problem_ == Problem::regression ? fmt::format("{:.4g}", predictions.values[row])
                                         : names_of(predictions.values.data() + row * columns());
}

std::string Classification::truth_text(std::size_t row) const {
  if (problem_ == Problem::single_label) return labels_[valid_.labels[row]];
  return problem_ == Problem::regression ? fmt::format("{:.4g}", valid_.values[row])
                                         : names_of(valid_.values.data() + row * columns());
}

void Classification::validate(Network& model, const PassResources& resources,
                              ValidationReport& report) const {
  const Predictions predictions = predict(model, resources);
  set_loss(predictions.weight == 0.0 ? 0.0 : predictions.loss / predictions.weight, report);
  measure(predictions, report);
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_.examples.size());
  for (std::size_t row = 0; row < samples; ++row)
    report.samples.push_back({rows_.valid.text(row), truth_text(row), prediction_text(predictions, row)});
}

// Return the label of example `sequence` of a batch as text.
std::string Classification::label_text(const Batch& batch, std::size_t sequence) const {
  if (problem_ == Problem::single_label) return labels_[batch.labels[sequence]];
  const float* values = batch.values.data() + sequence * columns();
  return problem_ == Problem::regression ? fmt::format("{:.4g}", *values) : names_of(values);
}

std::string Classification::example_text(const Batch& batch) const {
  return fmt::format("  input: {}\n  label: {}\n", tokens_text(*tokenizer_, part_of(batch.ids, batch, 0)),
                     label_text(batch, 0));
}

std::string Classification::preview(const Batch& batch, std::size_t sequence) const {
  const data::PreviewRow rows[] = {
      data::token_row("input", *tokenizer_, part_of(batch.ids, batch, sequence))};
  return data::aligned_preview(rows) + fmt::format("  label {}\n", label_text(batch, sequence));
}

}  // namespace

const TaskTraits& classification_traits() {
  static const TaskTraits traits =
      label_traits({.name = "classification",
                    .meaning = "predict labels or a number for a text or a pair of texts",
                    .keys = {"labels.problem_type", "training.r_drop"},
                    .metrics = {kAccuracy, kMacroF1, kMatthews, kPearson, kSpearman, kLoss},
                    .corpus = {.plain = data::CorpusFormat::text, .aligned = true},
                    .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]",
                                "data.columns=[1, 2]", "labels.problem_type=single_label_classification",
                                "validation.metrics=[\"loss\", \"accuracy\", \"f1\"]"},
                    .verb = "classify",
                    .make = new_task<Classification>});
  return traits;
}

}  // namespace regard::train
