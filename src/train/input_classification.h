// InputClassification: base class of the tasks that predict one label of an image or a sound. A task reads
// its rows and converts them to tensors; this class implements labels, loss and validation.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "train/encoder_task.h"
#include "train/label_set.h"

namespace regard::train {

class InputClassification : public EncoderTask {
 public:
  using EncoderTask::EncoderTask;

  Tokenizers train_tokenizers(ThreadPool&) const override { return {}; }
  // Load the model. If the run file lists no labels and the model's classifier has every label of the data,
  // use the labels of the classifier in its order.
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override;
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;

 protected:
  std::size_t training_examples() const override { return train_labels_.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) const override {
    append_labeled(batch, training_input(example, epoch), train_labels_[example], index);
  }
  text::LineSource training_texts() const override {
    return [](std::string&) { return false; };
  }

  // input of a training example, with augmentation
  virtual Tensor training_input(std::size_t example, std::uint64_t epoch) const = 0;
  virtual Tensor validation_input(std::size_t example) const = 0;
  // maximum length of the validation examples as sequences in the model
  virtual std::int64_t longest_validation() const { return positions(validation_input(0)); }
  // name of a validation example, for Sample::source
  virtual std::string validation_name(std::size_t example) const = 0;
  // length of `input` as a sequence in the model
  virtual std::int64_t positions(const Tensor& input) const = 0;

  // Take the labels from the run file if it has any, otherwise from the training rows. At least two labels
  // are required.
  template <class Rows>
  void choose_from(const Rows& rows) {
    std::set<std::string> labels;
    for (const auto& row : rows) labels.insert(row.text);
    choose(labels);
  }
  // Return the id of a row's label. Throws bad_file with the file and line of the row (`place`) if the label
  // is unknown.
  std::int32_t label_id(const std::string& label, const Place& place) const;
  // Complete load(): append the message about duplicates to the notes if it is not empty, and compute the
  // loss weight of each label. Throws bad_file if there are no examples.
  void finish_loading(const std::string& duplicates);

  LabelSet labels_;
  std::vector<std::int32_t> train_labels_, valid_labels_;  // label of each example; set by load()

 private:
  struct Predictions {
    std::vector<std::int32_t> labels;
    std::vector<float> probabilities;  // probability of the predicted label of each example
    double loss = 0, weight = 0;
  };

  void choose(const std::set<std::string>& in_data);
  void append_labeled(Batch& batch, const Tensor& input, std::int32_t label, std::uint64_t index) const;
  Predictions predict(Network& model, const PassResources& resources) const;

  std::vector<float> weights_;  // loss weight of each label; empty if all are 1
};

}  // namespace regard::train
