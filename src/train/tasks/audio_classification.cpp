#include "train/tasks/audio_classification.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "train/input_classification.h"
#include "train/media_traits.h"
#include "train/sounds.h"

namespace regard::train {
namespace {

class AudioClassification : public InputClassification {
 public:
  explicit AudioClassification(const RunConfig& config) : InputClassification(config), input_(config) {}

  const TaskTraits& traits() const override { return audio_classification_traits(); }
  void check() const override {
    check_sounds(config_, "the path of an audio file and its label");
    check_labels(config_.labels);
  }
  SequenceLimit longest_sequence() const override { return {"sound.seconds", 0, ""}; }
  void read() override {
    rows_ = read_sounds(config_);
    choose_from(rows_.train.rows);
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers& tokenizers) const override {
    InputClassification::check_model(model, tokenizers);
    spec_ = model.input_spec();
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
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
  Tensor training_input(std::size_t example, std::uint64_t epoch) const override {
    return train_.augmented(example, config_, epoch);
  }
  Tensor validation_input(std::size_t example) const override { return valid_.features(example); }
  std::int64_t longest_validation() const override {
    std::size_t longest = 0;
    for (std::size_t i = 1; i < valid_.size(); ++i)
      if (valid_.frames(i) > valid_.frames(longest)) longest = i;
    return positions(valid_.features(longest));
  }
  std::string validation_name(std::size_t example) const override { return valid_.row(example).name; }
  std::int64_t positions(const Tensor& input) const override { return spec_.length_of(input); }

 private:
  void load_part(const char* what, SoundRows rows, ThreadPool& pool, Sounds& sounds,
                 std::vector<std::int32_t>& labels);

  SoundSplit rows_;  // rows of the data; load() moves them to train_ and valid_
  SoundInput input_;
  mutable InputSpec spec_;  // input format of the model
  Sounds train_, valid_;
};

std::unique_ptr<Network> AudioClassification::load_model(const formats::ModelFolder& folder) {
  std::unique_ptr<Network> model = InputClassification::load_model(folder);
  input_.take(folder, model->input_spec());
  if (input_.processor().kind == data::SoundProcessor::Kind::samples) refuse_feature_masks(config_.sound);
  return model;
}

void AudioClassification::load_part(const char* what, SoundRows rows, ThreadPool& pool, Sounds& sounds,
                                    std::vector<std::int32_t>& labels) {
  sounds.load(std::move(rows), input_, config_, TooLong::cut, pool, notes_);
  for (std::size_t i = 0; i < sounds.size(); ++i)
    labels.push_back(label_id(sounds.row(i).text, sounds.row(i).place));
  std::string note =
      fmt::format("{}: {}; read {}", what, counted(sounds.size(), "sound"), sounds.report().text());
  if (sounds.left_out() > 0) note += fmt::format("; {} without samples skipped", sounds.left_out());
  notes_.push_back(note);
  fingerprint_ = fingerprint_ * 3 + sounds.fingerprint();
}

void AudioClassification::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  if (config_.model.from.empty()) spec_ = make_model(model_config(tokenizers), "[model]")->input_spec();
  load_part("training", std::move(rows_.train), pool, train_, train_labels_);
  sources_ = data::SourceCounter(train_.size(), [this](std::size_t i) { return train_.row(i).source; });
  load_part("validation", std::move(rows_.valid), pool, valid_, valid_labels_);
  finish_loading(rows_.duplicates);
}

}  // namespace

const TaskTraits& audio_classification_traits() {
  static const TaskTraits traits = sound_traits(
      {.name = "audio-classification",
       .meaning = "predict the label of a sound",
       .keys = {"labels.names", "labels.weights", "labels.balance", "model.layers", "sound.patch_size",
                "sound.patch_stride"},
       .metrics = {kAccuracy, kMacroF1, kLoss},
       .corpus = {.plain = data::CorpusFormat::lines, .aligned = true},
       .families = {"audio-spectrogram-transformer", "wav2vec2"},
       .example = {"model.family=audio-spectrogram-transformer", "model.layers=4", "sound.seconds=1",
                   "sound.bins=64", "sound.patch_size=16", "sound.patch_stride=12", "sound.mask_frames=0.2",
                   "sound.mask_bins=0.2", "training.batch_size=32",
                   "validation.metrics=[\"loss\", \"accuracy\", \"f1\"]"},
       .verb = "classify",
       .make = new_task<AudioClassification>});
  return traits;
}

}  // namespace regard::train
