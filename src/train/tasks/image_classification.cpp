#include "train/tasks/image_classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/picture_preview.h"
#include "metrics/classification.h"
#include "ops/cross_entropy.h"
#include "ops/weighted_cross_entropy.h"
#include "train/encoder_task.h"
#include "train/label_set.h"
#include "train/pictures.h"

namespace regard::train {
namespace {

class ImageClassification : public EncoderTask {
 public:
  explicit ImageClassification(const RunConfig& config) : EncoderTask(config), input_(config.images) {}

  const TaskTraits& traits() const override { return image_classification_traits(); }
  void check() const override {
    check_pictures(config_, "the path of an image and its label");
    check_labels(config_.labels);
  }
  SequenceLimit longest_sequence() const override { return {"images.size", 0, ""}; }
  Tokenizers train_tokenizers(ThreadPool&) const override { return {}; }
  void read() override;
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void load(const Tokenizers& tokenizers, ThreadPool&) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return loss_of(tape, head_output(model, tape, batch), batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    return input_.files();
  }
  std::string example_text(const Batch& batch) const override {
    return fmt::format("  label: {}\n", labels_[batch.labels[0]]);
  }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return data::picture_preview(batch.inputs[sequence]) +
           fmt::format("  label {}\n", labels_[batch.labels[sequence]]);
  }

 protected:
  HeadNeed head() const override {
    return {"ForImageClassification", Output::sequence_classes, labels_.names(),
            "single_label_classification"};
  }
  std::size_t training_examples() const override { return train_.pictures.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) const override {
    append(train_, train_.pictures.augmented(example, config_, epoch), batch, example, index);
  }
  text::LineSource training_texts() const override {
    return [](std::string&) { return false; };
  }

 private:
  struct Part {
    Pictures pictures;
    std::vector<std::int32_t> labels;
  };
  struct Predictions {
    std::vector<std::int32_t> labels;
    std::vector<float> probabilities;  // of the label
    double loss = 0, weight = 0;
  };

  void load_part(const char* what, data::PictureRows rows, Part& part);
  void append(const Part& part, const Tensor& pixels, Batch& batch, std::size_t example,
              std::uint64_t index) const;
  Var loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options) const;
  Predictions predict(Network& model, const PassResources& resources) const;

  PictureSplit rows_;  // empty after load()
  PictureInput input_;
  LabelSet labels_;
  std::vector<float> weights_;  // of the labels; empty: 1 each
  Part train_, valid_;
};

void ImageClassification::read() {
  rows_ = read_pictures(config_);
  std::set<std::string> labels;
  for (const data::PictureRow& row : rows_.train.rows) labels.insert(row.text);
  labels_ = choose_labels(config_.labels, {labels.begin(), labels.end()}, 2, config_.data.train[0]);
}

// A folder's classifier with these labels in another order keeps its order.
std::unique_ptr<Network> ImageClassification::load_model(const formats::ModelFolder& folder) {
  labels_ = ordered_as(labels_, config_.labels, label_names(folder.config));
  std::unique_ptr<Network> model = EncoderTask::load_model(folder);
  input_.take(folder, model->input_spec());
  return model;
}

void ImageClassification::load_part(const char* what, data::PictureRows rows, Part& part) {
  const bool given = !config_.labels.names.empty();
  part.pictures.load(std::move(rows), input_, config_);
  for (std::size_t i = 0; i < part.pictures.size(); ++i) {
    const data::PictureRow& row = part.pictures.row(i);
    part.labels.push_back(labels_.id_of(row.text, row.place, given));
  }
  notes_.push_back(
      fmt::format("{}: {} pictures; read {}", what, part.pictures.size(), part.pictures.report().text()));
  fingerprint_ = fingerprint_ * 3 + part.pictures.fingerprint();
}

void ImageClassification::load(const Tokenizers& tokenizers, ThreadPool&) {
  if (config_.model.from.empty())
    input_.set_spec(make_model(model_config(tokenizers), "[model]")->input_spec());
  load_part("training", std::move(rows_.train), train_);
  load_part("validation", std::move(rows_.valid), valid_);
  if (!rows_.duplicates.empty()) notes_.push_back(rows_.duplicates);
  if (train_.pictures.size() == 0) throw nothing_left(config_, "train");
  if (valid_.pictures.size() == 0) throw nothing_left(config_, "validate");
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::int32_t label : train_.labels) ++counts[static_cast<std::size_t>(label)];
  weights_ = label_weights(config_.labels, labels_, counts, notes_);
}

void ImageClassification::append(const Part& part, const Tensor& pixels, Batch& batch, std::size_t example,
                                 std::uint64_t index) const {
  batch.add_input(pixels, input_.positions(), index);
  const std::int32_t label = part.labels[example];
  batch.labels.push_back(label);
  if (!weights_.empty()) batch.label_weights.push_back(weights_[static_cast<std::size_t>(label)]);
}

Var ImageClassification::loss_of(Tape& tape, Var logits, const Batch& batch,
                                 const LossOptions& options) const {
  const ops::CrossEntropyOptions how{options.label_smoothing, kIgnoredLabel, options.factor};
  return weights_.empty() ? ops::cross_entropy(tape, logits, batch.labels, how)
                          : ops::weighted_cross_entropy(tape, logits, batch.labels, weights_, how);
}

ImageClassification::Predictions ImageClassification::predict(Network& model,
                                                              const PassResources& resources) const {
  Predictions predictions;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.pictures.size(), input_.positions(),
      [&](Batch& batch, std::size_t i) { append(valid_, valid_.pictures.pixels(i), batch, i, i); },
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
        predictions.loss += static_cast<double>(loss_of(tape, logits, batch, {})->value.f32()[0]);
        predictions.weight += batch.weight();
      });
  return predictions;
}

void ImageClassification::validate(Network& model, const PassResources& resources,
                                   ValidationReport& report) const {
  const Predictions predictions = predict(model, resources);
  set_loss(predictions.weight == 0.0 ? 0.0 : predictions.loss / predictions.weight, report);
  const auto classes = static_cast<std::int32_t>(labels_.size());
  if (config_.wants(kAccuracy.name))
    report.metrics.push_back({kAccuracy, metrics::accuracy(predictions.labels, valid_.labels)});
  if (config_.wants(kMacroF1.name))
    report.metrics.push_back(
        {kMacroF1,
         metrics::precision_recall(predictions.labels, valid_.labels, classes, metrics::Average::macro).f1});
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_.pictures.size());
  for (std::size_t row = 0; row < samples; ++row)
    report.samples.push_back(
        {valid_.pictures.row(row).name(), labels_[valid_.labels[row]],
         fmt::format("{} ({:.2f})", labels_[predictions.labels[row]], predictions.probabilities[row])});
}

}  // namespace

const TaskTraits& image_classification_traits() {
  static const TaskTraits traits{
      .name = "image-classification",
      .meaning = "the label of a picture",
      .keys = {"labels.names", "labels.weights", "labels.balance", "model.layers", "training.batch_size",
               "images.size", "images.patch_size", "images.highest", "images.mean", "images.deviation",
               "augmentation.smallest_crop", "augmentation.flip", "augmentation.rotation",
               "augmentation.zoom", "augmentation.shift", "augmentation.shear"},
      .metrics = {kAccuracy, kMacroF1, kLoss},
      .corpus = {.plain = data::CorpusFormat::lines, .aligned = true, .folders = true},
      .families = {"vit", "deit"},
      .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]", "data.columns=[1, 2]",
                  "model.family=vit", "model.layers=4", "model.activation=gelu", "images.size=32",
                  "images.patch_size=4", "augmentation.rotation=10", "augmentation.shift=0.1",
                  "augmentation.zoom=0.1", "training.batch_size=64",
                  "validation.metrics=[\"loss\", \"accuracy\", \"f1\"]"},
      .verb = "classify",
      .labels = "labels",
      .has_text = false};
  return traits;
}

std::unique_ptr<Task> make_image_classification(const RunConfig& config) {
  return std::make_unique<ImageClassification>(config);
}

}  // namespace regard::train
