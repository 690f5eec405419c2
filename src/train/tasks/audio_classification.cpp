#include "train/tasks/audio_classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "metrics/classification.h"
#include "ops/cross_entropy.h"
#include "ops/weighted_cross_entropy.h"
#include "train/encoder_task.h"
#include "train/label_set.h"
#include "train/sounds.h"

namespace regard::train {
namespace {

class AudioClassification : public EncoderTask {
 public:
  explicit AudioClassification(const RunConfig& config) : EncoderTask(config), input_(config) {}

  const TaskTraits& traits() const override { return audio_classification_traits(); }
  void check() const override {
    check_sounds(config_, "the path of a sound and its label");
    check_labels(config_.labels);
  }
  SequenceLimit longest_sequence() const override { return {"sound.seconds", 0, ""}; }
  Tokenizers train_tokenizers(ThreadPool&) const override { return {}; }
  void read() override {
    rows_ = read_sounds(config_);
    std::set<std::string> labels;
    for (const SoundRow& row : rows_.train) labels.insert(row.text);
    labels_ = choose_labels(config_.labels, {labels.begin(), labels.end()}, 2, config_.data.train[0]);
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers& tokenizers) const override {
    EncoderTask::check_model(model, tokenizers);
    spec_ = model.input_spec();
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return loss_of(tape, head_output(model, tape, batch), batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    return input_.files();
  }
  std::string example_text(const Batch& batch) const override { return preview(batch, 0); }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    const Tensor& features = batch.inputs[sequence];
    return fmt::format("  input: {} frames of {} bins\n  label: {}\n", features.rows(), features.columns(),
                       labels_[batch.labels[sequence]]);
  }

 protected:
  HeadNeed head() const override {
    return {"ForAudioClassification", Output::sequence_classes, labels_.names(),
            "single_label_classification"};
  }
  std::size_t training_examples() const override { return train_.sounds.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) const override {
    append(train_, train_.sounds.augmented(example, config_, epoch), batch, example, index);
  }
  text::LineSource training_texts() const override {
    return [](std::string&) { return false; };
  }

 private:
  struct Part {
    Sounds sounds;
    std::vector<std::int32_t> labels;
  };
  struct Predictions {
    std::vector<std::int32_t> labels;
    std::vector<float> probabilities;  // of the label
    double loss = 0, weight = 0;
  };

  void load_part(const char* what, std::vector<SoundRow> rows, const data::CorpusReport& report,
                 ThreadPool& pool, Part& part);
  void append(const Part& part, const Tensor& features, Batch& batch, std::size_t example,
              std::uint64_t index) const;
  Var loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options) const;
  Predictions predict(Network& model, const PassResources& resources) const;

  SoundSplit rows_;  // empty after load()
  SoundInput input_;
  mutable InputSpec spec_;  // of the model
  LabelSet labels_;
  std::vector<float> weights_;  // of the labels; empty: 1 each
  Part train_, valid_;
};

// A folder's classifier with these labels in another order keeps its order.
std::unique_ptr<Network> AudioClassification::load_model(const formats::ModelFolder& folder) {
  labels_ = ordered_as(labels_, config_.labels, label_names(folder.config));
  std::unique_ptr<Network> model = EncoderTask::load_model(folder);
  input_.take(folder, model->input_spec());
  return model;
}

void AudioClassification::load_part(const char* what, std::vector<SoundRow> rows,
                                    const data::CorpusReport& report, ThreadPool& pool, Part& part) {
  const bool given = !config_.labels.names.empty();
  part.sounds.load(std::move(rows), input_, config_, TooLong::cut, pool, notes_);
  for (std::size_t i = 0; i < part.sounds.size(); ++i) {
    const SoundRow& row = part.sounds.row(i);
    part.labels.push_back(labels_.id_of(row.text, row.place, given));
  }
  std::string note = fmt::format("{}: {} sounds; read {}", what, part.sounds.size(), report.text());
  if (part.sounds.left_out() > 0) note += fmt::format("; {} without samples skipped", part.sounds.left_out());
  notes_.push_back(note);
  fingerprint_ = fingerprint_ * 3 + part.sounds.fingerprint();
}

void AudioClassification::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  if (config_.model.from.empty()) spec_ = make_model(model_config(tokenizers), "[model]")->input_spec();
  load_part("training", std::move(rows_.train), rows_.train_report, pool, train_);
  load_part("validation", std::move(rows_.valid), rows_.valid_report, pool, valid_);
  if (train_.sounds.size() == 0) throw nothing_left(config_, "train");
  if (valid_.sounds.size() == 0) throw nothing_left(config_, "validate");
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::int32_t label : train_.labels) ++counts[static_cast<std::size_t>(label)];
  weights_ = label_weights(config_.labels, labels_, counts, notes_);
}

void AudioClassification::append(const Part& part, const Tensor& features, Batch& batch, std::size_t example,
                                 std::uint64_t index) const {
  batch.add_input(features, spec_.length_of(features), index);
  const std::int32_t label = part.labels[example];
  batch.labels.push_back(label);
  if (!weights_.empty()) batch.label_weights.push_back(weights_[static_cast<std::size_t>(label)]);
}

Var AudioClassification::loss_of(Tape& tape, Var logits, const Batch& batch,
                                 const LossOptions& options) const {
  const ops::CrossEntropyOptions how{options.label_smoothing, kIgnoredLabel, options.factor};
  return weights_.empty() ? ops::cross_entropy(tape, logits, batch.labels, how)
                          : ops::weighted_cross_entropy(tape, logits, batch.labels, weights_, how);
}

AudioClassification::Predictions AudioClassification::predict(Network& model,
                                                              const PassResources& resources) const {
  Predictions predictions;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.sounds.size(), spec_.length_of(valid_.sounds.features(0)),
      [&](Batch& batch, std::size_t i) { append(valid_, valid_.sounds.features(i), batch, i, i); },
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

void AudioClassification::validate(Network& model, const PassResources& resources,
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
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_.sounds.size());
  for (std::size_t row = 0; row < samples; ++row)
    report.samples.push_back(
        {valid_.sounds.row(row).name, labels_[valid_.labels[row]],
         fmt::format("{} ({:.2f})", labels_[predictions.labels[row]], predictions.probabilities[row])});
}

}  // namespace

const TaskTraits& audio_classification_traits() {
  static const TaskTraits traits{
      .name = "audio-classification",
      .meaning = "the label of a sound",
      .keys = {"labels.names", "labels.weights", "labels.balance", "model.layers", "training.batch_size",
               "data.cache", "sound.bins", "sound.seconds", "sound.patch_size", "sound.patch_stride",
               "sound.mask_frames", "sound.masked_frames", "sound.mask_bins", "sound.masked_bins"},
      .metrics = {kAccuracy, kMacroF1, kLoss},
      .corpus = {.plain = data::CorpusFormat::lines, .aligned = true},
      .families = {"audio-spectrogram-transformer"},
      .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]", "data.columns=[1, 2]",
                  "model.family=audio-spectrogram-transformer", "model.layers=4", "model.activation=gelu",
                  "sound.seconds=1", "sound.bins=64", "sound.patch_size=16", "sound.patch_stride=12",
                  "sound.mask_frames=0.2", "sound.mask_bins=0.2", "training.batch_size=32",
                  "validation.metrics=[\"loss\", \"accuracy\", \"f1\"]"},
      .verb = "classify",
      .labels = "labels",
      .has_text = false};
  return traits;
}

std::unique_ptr<Task> make_audio_classification(const RunConfig& config) {
  return std::make_unique<AudioClassification>(config);
}

}  // namespace regard::train
