#include "train/tasks/image_classification.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "data/picture_preview.h"
#include "train/input_classification.h"
#include "train/media_traits.h"
#include "train/pictures.h"

namespace regard::train {
namespace {

class ImageClassification : public InputClassification {
 public:
  explicit ImageClassification(const RunConfig& config)
      : InputClassification(config), input_(config.images) {}

  const TaskTraits& traits() const override { return image_classification_traits(); }
  void check() const override {
    check_pictures(config_, "the path of an image and its label");
    check_labels(config_.labels);
  }
  SequenceLimit longest_sequence() const override { return {"images.size", 0, ""}; }
  void read() override;
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void load(const Tokenizers& tokenizers, ThreadPool&) override;
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
  Tensor training_input(std::size_t example, std::uint64_t epoch) const override {
    return train_.augmented(example, config_, epoch);
  }
  Tensor validation_input(std::size_t example) const override { return valid_.pixels(example); }
  std::string validation_name(std::size_t example) const override { return valid_.row(example).name(); }
  std::int64_t positions(const Tensor&) const override { return input_.positions(); }

 private:
  void load_part(const char* what, data::PictureRows rows, Pictures& pictures,
                 std::vector<std::int32_t>& labels);

  PictureSplit rows_;  // rows of the data; load() moves them to train_ and valid_
  PictureInput input_;
  Pictures train_, valid_;
};

void ImageClassification::read() {
  rows_ = read_pictures(config_);
  choose_from(rows_.train.rows);
}

std::unique_ptr<Network> ImageClassification::load_model(const formats::ModelFolder& folder) {
  std::unique_ptr<Network> model = InputClassification::load_model(folder);
  input_.take(folder, model->input_spec());
  return model;
}

void ImageClassification::load_part(const char* what, data::PictureRows rows, Pictures& pictures,
                                    std::vector<std::int32_t>& labels) {
  pictures.load(std::move(rows), input_, config_);
  for (std::size_t i = 0; i < pictures.size(); ++i)
    labels.push_back(label_id(pictures.row(i).text, pictures.row(i).place));
  notes_.push_back(
      fmt::format("{}: {}; read {}", what, counted(pictures.size(), "image"), pictures.report().text()));
  fingerprint_ = fingerprint_ * 3 + pictures.fingerprint();
}

void ImageClassification::load(const Tokenizers& tokenizers, ThreadPool&) {
  if (config_.model.from.empty())
    input_.set_spec(make_model(model_config(tokenizers), "[model]")->input_spec());
  load_part("training", std::move(rows_.train), train_, train_labels_);
  sources_ = data::SourceCounter(train_.size(), [this](std::size_t i) { return train_.row(i).source; });
  load_part("validation", std::move(rows_.valid), valid_, valid_labels_);
  finish_loading(rows_.duplicates);
}

}  // namespace

const TaskTraits& image_classification_traits() {
  static const TaskTraits traits = picture_traits(
      {.name = "image-classification",
       .meaning = "predict the label of an image",
       .keys = {"labels.names", "labels.weights", "labels.balance", "model.layers", "images.highest"},
       .metrics = {kAccuracy, kMacroF1, kLoss},
       .corpus = {.plain = data::CorpusFormat::lines, .aligned = true, .files_of_lines = 2, .folders = true},
       .families = {"vit", "deit"},
       .example = {"model.family=vit", "model.layers=4", "images.size=32", "images.patch_size=4",
                   "augmentation.rotation=10", "augmentation.shift=0.1", "augmentation.zoom=0.1",
                   "training.batch_size=64", "validation.metrics=[\"loss\", \"accuracy\", \"f1\"]"},
       .verb = "classify",
       .labels = "labels",
       .has_text = false,
       .make = new_task<ImageClassification>});
  return traits;
}

}  // namespace regard::train
