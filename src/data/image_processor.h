// From images to what a model reads, as a folder's preprocessor_config.json describes it, with the results of
// transformers' image processors over Pillow: bytes are resized with Pillow's fixed-point filters, cropped,
// then scaled and normalised in f32.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

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
};  // as Pillow

// Pillow's Image.resize(): with anti-aliasing, rounded to bytes after each direction.
Image resize(const Image& image, std::int64_t height, std::int64_t width, Resampling filter);

// The middle; where the image is smaller, black around it.
Image centre_crop(const Image& image, std::int64_t height, std::int64_t width);

struct ImageProcessor {
  bool do_resize = true, do_crop = false, do_rescale = true, do_normalise = true;
  std::int64_t height = 224, width = 224;
  std::int64_t shortest_edge = 0;  // not 0: instead of height and width, the shape stays
  Resampling filter = Resampling::bilinear;
  std::int64_t crop_height = 224, crop_width = 224;
  double rescale_factor = 1.0 / 255.0;
  std::array<float, 3> mean{0.5f, 0.5f, 0.5f}, deviation{0.5f, 0.5f, 0.5f};

  // FOLDER/preprocessor_config.json; where it is missing, images are resized to height × width, colours −1 to
  // 1. Throws bad_file naming file and key.
  static ImageProcessor open(const std::filesystem::path& folder, std::int64_t height, std::int64_t width);

  Image shape(const Image& image) const;              // resized and cropped
  void write(const Image& image, float* to) const;    // [3, height, width]
  Tensor apply(std::span<const Image> images) const;  // [images, 3, height, width]
};

}  // namespace regard::data
