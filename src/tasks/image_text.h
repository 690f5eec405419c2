// Embed texts and images in one vector space with a dual encoder (CLIP, SigLIP), for example to search images
// by text. Images can also be classified by any labels, as in transformers' zero-shot-image-classification
// pipeline.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "models/dual_encoder.h"
#include "tasks/classify.h"
#include "tasks/image_reader.h"

namespace regard::tasks {

class ImageTextEncoder {
 public:
  // `probe` is called in every forward pass of both encoders, and may be null. `loaded`, `pool` and `probe`
  // must outlive this object. Throws usage if the model is not a dual encoder, and the errors of ImageReader.
  ImageTextEncoder(const infer::LoadedModel& loaded, ThreadPool& pool, Probe* probe = nullptr);

  std::int64_t size() const { return model_.size(); }
  bool independent() const { return model_.sigmoid(); }  // true if several labels may apply to an image
  // Tokenise a text. A text longer than the model's maximum is truncated.
  Input read(std::string_view text) const;
  std::vector<Input> read(std::span<const data::Image> images) const { return images_.read(images); }

  // Return vectors [inputs, size] of length 1. Inputs are all texts or all images. Throws invalid_input for
  // a text without tokens, numeric if a vector is not finite.
  Tensor embed(std::span<const Input> inputs);
  // Return the logits [images, texts] of vectors that embed() returned.
  Tensor logits(const Tensor& images, const Tensor& texts);

 private:
  void embed_some(std::span<const Input> inputs, float* vectors);

  DualEncoder& model_;
  Reader texts_;
  ImageReader images_;
  Arena arena_;
  Tape tape_;
  Probe* probe_;
  InputBuffer batch_;
};

// Computes scores of images for the given labels.
class ZeroShotClassifier {
 public:
  // The text for a label is `pattern` with the label in place of {}. Throws usage if there are no labels, or
  // no {} in the pattern.
  ZeroShotClassifier(ImageTextEncoder& encoder, std::vector<std::string> labels, const std::string& pattern);

  const std::vector<std::string>& labels() const { return labels_; }
  // Return scores [images, labels]: softmax over the labels, or the sigmoid of each label. Default: the
  // function with which the model was trained.
  Tensor scores(std::span<const Input> images);
  void set_scores(Scores scores) { scores_ = scores; }

 private:
  ImageTextEncoder& encoder_;
  std::vector<std::string> labels_;
  Tensor texts_;  // vectors of the labels
  Scores scores_;
};

constexpr const char* kLabelPattern = "This is a photo of {}.";

}  // namespace regard::tasks
