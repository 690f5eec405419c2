#include "train/input_classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/classification.h"
#include "train/confusion.h"
#include "train/label_loss.h"

namespace regard::train {

void InputClassification::choose(const std::set<std::string>& in_data) {
  labels_ = choose_labels(config_.labels, {in_data.begin(), in_data.end()}, 2, config_.data.train[0]);
}

std::int32_t InputClassification::label_id(const std::string& label, const Place& place) const {
  return labels_.id_of(label, place, !config_.labels.names.empty());
}

std::unique_ptr<Network> InputClassification::load_model(const formats::ModelFolder& folder) {
  labels_ = ordered_as(labels_, config_.labels, label_names(folder.config));
  return EncoderTask::load_model(folder);
}

void InputClassification::finish_loading(const std::string& duplicates) {
  if (!duplicates.empty()) notes_.push_back(duplicates);
  if (train_labels_.empty()) throw nothing_left(config_, "train");
  if (valid_labels_.empty()) throw nothing_left(config_, "validate");
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::int32_t label : train_labels_) ++counts[static_cast<std::size_t>(label)];
  weights_ = label_weights(config_.labels, labels_, counts, notes_);
}

void InputClassification::append_labeled(Batch& batch, const Tensor& input, std::int32_t label,
                                         std::uint64_t index) const {
  batch.add_input(input, positions(input), index);
  batch.labels.push_back(label);
  if (!weights_.empty()) batch.label_weights.push_back(weights_[static_cast<std::size_t>(label)]);
}

Var InputClassification::loss(Network& model, Tape& tape, const Batch& batch,
                              const LossOptions& options) const {
  return label_loss(tape, head_output(model, tape, batch), batch, weights_, options);
}

InputClassification::Predictions InputClassification::predict(Network& model,
                                                              const PassResources& resources) const {
  Predictions predictions;
  PredictionPass pass(model, resources);
  pass.run(
      valid_labels_.size(), longest_validation(),
      [&](Batch& batch, std::size_t i) { append_labeled(batch, validation_input(i), valid_labels_[i], i); },
      [&](Tape& tape, const Batch& batch, std::size_t, std::size_t) {
        Var logits = head_output(model, tape, batch);
        for (std::int64_t i = 0; i < logits->value.rows(); ++i) {
          const std::span<const float> row(logits->value.row(i), labels_.size());
          const auto best = std::max_element(row.begin(), row.end());
          double sum = 0;
          for (const float x : row) sum += std::exp(static_cast<double>(x) - static_cast<double>(*best));
          predictions.labels.push_back(static_cast<std::int32_t>(best - row.begin()));
          predictions.probabilities.push_back(static_cast<float>(1.0 / sum));
        }
        predictions.loss +=
            static_cast<double>(label_loss(tape, logits, batch, weights_, {})->value.f32()[0]);
        predictions.weight += batch.weight();
      });
  return predictions;
}

void InputClassification::validate(Network& model, const PassResources& resources,
                                   ValidationReport& report) const {
  const Predictions predictions = predict(model, resources);
  set_loss(predictions.weight == 0.0 ? 0.0 : predictions.loss / predictions.weight, report);
  set_confusion(predictions.labels, valid_labels_, labels_, report);
  const auto classes = static_cast<std::int32_t>(labels_.size());
  if (config_.wants(kAccuracy.name))
    report.metrics.push_back({kAccuracy, metrics::accuracy(predictions.labels, valid_labels_)});
  if (config_.wants(kMacroF1.name))
    report.metrics.push_back(
        {kMacroF1,
         metrics::precision_recall(predictions.labels, valid_labels_, classes, metrics::Average::macro).f1});
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_labels_.size());
  for (std::size_t row = 0; row < samples; ++row)
    report.samples.push_back(
        {validation_name(row), labels_[valid_labels_[row]],
         fmt::format("{} ({:.2f})", labels_[predictions.labels[row]], predictions.probabilities[row])});
}

}  // namespace regard::train
