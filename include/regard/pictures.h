// Caption images, and compare texts with images by their embedding vectors.
//
//   regard::Captioner captioner(regard::load("models/captions"));
//   std::string text = captioner.caption("cat.jpg")[0];
//
//   regard::ImageTextEncoder clip(regard::load("models/clip"));
//   std::string label = clip.classify("cat.jpg", {"a cat", "a dog"})[0][0].name;
//   regard::Tensor like = clip.similarities(clip.embed(texts), clip.embed_images(files));  // [texts, files]
//
// Image files: PNG, JPEG, WebP (if the build has the libraries), PPM, PGM, IDX; "-" is standard input. Images
// are resized and normalised as preprocessor_config.json in the model's folder specifies.
//
// The rules of regard/tasks.h for threads, reproducibility and errors also apply here.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/export.h"
#include "regard/model.h"
#include "regard/tasks.h"
#include "regard/tensor.h"

namespace regard {

class REGARD_API Captioner {
 public:
  // Throws usage if the model lacks an image encoder or a text decoder, or if options are invalid.
  explicit Captioner(const Model& model, const DecodingOptions& options = {});

  // Return one caption per image of the file.
  std::vector<std::string> caption(const std::filesystem::path& file) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

struct ImageTextOptions {
  // Interventions applied in every forward pass (syntax: docs/looking.md). The name of each head or value
  // starts with "vision" or "text", such as "zero vision.encoder.1.0" or "uniform text.encoder.0.2".
  std::vector<std::string> interventions = {};
};

class REGARD_API ImageTextEncoder {
 public:
  // Throws usage if the model does not compare texts with images (as CLIP and SigLIP do), or if an
  // intervention is invalid.
  explicit ImageTextEncoder(const Model& model, const ImageTextOptions& options = {});

  std::int64_t size() const;  // number of elements of a vector
  // Return embedding vectors with Euclidean norm 1; texts longer than the model's maximum number of positions
  // are truncated. Throws invalid_input for a text without tokens, bad_file for a file that does not contain
  // exactly one image.
  Tensor embed(std::span<const std::string> texts) const;                   // [texts, size]
  Tensor embed(std::string_view text) const;                                // [1, size]
  Tensor embed_images(std::span<const std::filesystem::path> files) const;  // [files, size]
  Tensor embed_images(const std::filesystem::path& file) const;             // [1, size]
  // Return the cosine similarities [rows of a, rows of b] of vectors from embed() or embed_images().
  Tensor similarities(const Tensor& a, const Tensor& b) const;

  // For each image of the file, return all labels with their scores, best first. The scores of an image are a
  // softmax over the labels; for SigLIP, they are independent probabilities. The text for a label is
  // `pattern` with {} replaced by the label.
  std::vector<std::vector<Label>> classify(const std::filesystem::path& file,
                                           const std::vector<std::string>& labels,
                                           std::string_view pattern = "This is a photo of {}.") const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

}  // namespace regard
