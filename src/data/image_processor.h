// Conversion of images to model input as specified by preprocessor_config.json, with the same results as the
// image processors of Hugging Face transformers with Pillow. Bytes are resized with Pillow's fixed-point
// filters and cropped, then scaled and normalised in f32.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/json_fwd.h"
#include "data/image.h"
#include "regard/tensor.h"

namespace regard::data {

enum class Resampling {
  nearest = 0,
  lanczos = 1,
  bilinear = 2,
  bicubic = 3,
  box = 4,
  hamming = 5
};  // the values are Pillow's constants

// Resize with the same result as Pillow's Image.resize(): with anti-aliasing, rounded to bytes after each
// direction.
Image resize(const Image& image, std::int64_t height, std::int64_t width, Resampling filter);

// Return the central part of the image, with the given size. Where the image is smaller, black pixels are
// added.
Image centre_crop(const Image& image, std::int64_t height, std::int64_t width);

struct ImageProcessor {
  bool do_resize = true, do_crop = false, do_rescale = true, do_normalise = true;
  std::int64_t height = 224, width = 224;
  // length in pixels of the shorter side after resizing, which keeps the aspect ratio; 0 means that images
  // are resized to height and width
  std::int64_t shortest_edge = 0;
  Resampling filter = Resampling::bilinear;
  std::int64_t crop_height = 224, crop_width = 224;
  double rescale_factor = 1.0 / 255.0;
  std::array<float, 3> mean{0.5f, 0.5f, 0.5f}, deviation{0.5f, 0.5f, 0.5f};

  // Read the settings of a model folder (see read_processor_keys()). Missing keys have the defaults of the
  // processor class that the settings name. Without settings, images are resized to height × width, and
  // colours are scaled to −1 to 1. Throws bad_file with file and key.
  static ImageProcessor open(const std::filesystem::path& folder, std::int64_t height, std::int64_t width);

  Json to_json() const;  // content of preprocessor_config.json for transformers' ViTImageProcessor

  Image shape(const Image& image) const;  // return the image resized and cropped
  // write the image to `to`, scaled and normalised [3, height, width]
  void write(const Image& image, float* to) const;
  // call shape() and write() for each image; return [images, 3, height, width]
  Tensor apply(std::span<const Image> images) const;
};

}  // namespace regard::data
