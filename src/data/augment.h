// Random affine changes of training images: crop, flip, rotation, zoom, shift, shear. They are combined into
// one map from points of the new image to points of the old one, so that each image is resampled only once.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace regard::data {

struct Augmentation {
  // minimum fraction of the image's area that a random crop keeps; 1 disables cropping
  double smallest_crop = 1.0;
  double flip = 0.0;      // probability that an image is mirrored horizontally
  double rotation = 0.0;  // maximum angle of rotation in either direction, in degrees
  double zoom = 0.0;      // maximum relative change of the size; 0.1 means 10 %
  double shift = 0.0;     // maximum shift, as a fraction of width and height
  double shear = 0.0;     // maximum horizontal shear, in degrees

  bool used() const {
    return smallest_crop < 1.0 || flip > 0.0 || rotation > 0.0 || zoom > 0.0 || shift > 0.0 || shear > 0.0;
  }
};

// The affine map (x, y) → (xx·x + xy·y + x0, yx·x + yy·y + y0). Coordinates run from −1 at one outer edge of
// the image to 1 at the other, as in torch.nn.functional.affine_grid(align_corners=False).
struct AffineMap {
  double xx = 1.0, xy = 0.0, x0 = 0.0;
  double yx = 0.0, yy = 1.0, y0 = 0.0;
};

// Return a random affine map for images of this size. The result is a pure function of the arguments.
AffineMap random_map(const Augmentation& how, std::int64_t height, std::int64_t width, const RandomKey& key);

struct PixelPlanes {
  std::int64_t channels = 0, height = 0, width = 0;
};
// For each pixel (x, y) of `to`, sample `from` [channels, height, width] bilinearly at map(x, y), with the
// value fill[channel] outside the image. With fill 0, the result equals
// torch.nn.functional.grid_sample(mode="bilinear", padding_mode="zeros", align_corners=False).
void warp(const float* from, const PixelPlanes& shape, const AffineMap& map, std::span<const float> fill,
          float* to);

}  // namespace regard::data
