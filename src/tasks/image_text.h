// Texts and images as vectors of one space, by a dual encoder (CLIP, SigLIP): search of pictures by words,
// and classification of pictures by labels given as words, as in transformers' zero-shot-image-classification
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
  // `loaded` and `pool` must outlive the encoder; `folder`: of the model, with preprocessor_config.json.
  // Texts longer than the model are truncated. Throws usage if the model is no dual encoder.
  ImageTextEncoder(const infer::LoadedModel& loaded, const std::filesystem::path& folder, ThreadPool& pool);

  std::int64_t size() const { return model_.size(); }
  bool independent() const { return model_.sigmoid(); }  // labels do not exclude each other
  Input read(std::string_view text) const;
  std::vector<Input> read(std::span<const data::Image> images) const { return images_.read(images); }

  // Vectors [inputs, size] of length 1; inputs are all texts or all images. Throws invalid_input for a text
  // without tokens, numeric if a vector is not finite.
  Tensor embed(std::span<const Input> inputs);
  // Logits [images, texts] of such vectors.
  Tensor logits(const Tensor& images, const Tensor& texts);

 private:
  void embed_some(std::span<const Input> inputs, float* vectors);

  DualEncoder& model_;
  Reader texts_;
  ImageReader images_;
  Arena arena_;
  Tape tape_;
  InputBuffer batch_;
};

// Scores of labels for images.
class ZeroShotClassifier {
 public:
  // `pattern`: the text of a label, with {} for the label. Throws usage if there is no label, or no {} in the
  // pattern.
  ZeroShotClassifier(ImageTextEncoder& encoder, std::vector<std::string> labels, const std::string& pattern);

  const std::vector<std::string>& labels() const { return labels_; }
  // Scores [images, labels]: softmax over the labels, or each label's sigmoid; default: as the model was
  // trained.
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
