#include "data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace regard::data {
namespace {

// Return the map that applies b, then a.
AffineMap compose(const AffineMap& a, const AffineMap& b) {
  return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.xx * b.x0 + a.xy * b.y0 + a.x0,
          a.yx * b.xx + a.yy * b.yx, a.yx * b.xy + a.yy * b.yy, a.yx * b.x0 + a.yy * b.y0 + a.y0};
}

// The four pixels that bilinear interpolation reads around a point, and their weights.
struct Corners {
  std::int64_t x = 0, y = 0;  // column and row of the upper left pixel of the four
  float right = 0, down = 0;  // weights of the pixels to the right and below
};

Corners corners_of(const AffineMap& map, const PixelPlanes& shape, std::int64_t row, std::int64_t column) {
  const double x = (2.0 * static_cast<double>(column) + 1.0) / static_cast<double>(shape.width) - 1.0;
  const double y = (2.0 * static_cast<double>(row) + 1.0) / static_cast<double>(shape.height) - 1.0;
  const auto place = [](double at, std::int64_t size) {
    const double pixel = ((at + 1.0) * static_cast<double>(size) - 1.0) / 2.0;
    // all points outside of the image have the same value, so clamping does not change the result
    return std::clamp(pixel, -2.0, static_cast<double>(size) + 1.0);
  };
  const double u = place(map.xx * x + map.xy * y + map.x0, shape.width);
  const double v = place(map.yx * x + map.yy * y + map.y0, shape.height);
  return {static_cast<std::int64_t>(std::floor(u)), static_cast<std::int64_t>(std::floor(v)),
          static_cast<float>(u - std::floor(u)), static_cast<float>(v - std::floor(v))};
}

}  // namespace

AffineMap random_map(const Augmentation& how, std::int64_t height, std::int64_t width, const RandomKey& key) {
  RandomStream random(key);
  const auto between = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random.next_uniform());
  };
  constexpr double kDegree = std::numbers::pi / 180.0;
  const double area = between(how.smallest_crop, 1.0);
  const double ratio = how.smallest_crop < 1.0 ? std::exp(between(std::log(0.75), std::log(4.0 / 3.0))) : 1.0;
  const double kept_width = std::min(std::sqrt(area * ratio), 1.0);
  const double kept_height = std::min(std::sqrt(area / ratio), 1.0);
  const AffineMap crop{kept_width, 0.0,         between(kept_width - 1.0, 1.0 - kept_width),
                       0.0,        kept_height, between(kept_height - 1.0, 1.0 - kept_height)};
  const bool flipped = static_cast<double>(random.next_uniform()) < how.flip;
  const AffineMap flip{flipped ? -1.0 : 1.0};
  const double angle = kDegree * between(-how.rotation, how.rotation);
  const double size = 1.0 / between(1.0 - how.zoom, 1.0 + how.zoom);
  const double shear = std::tan(kDegree * between(-how.shear, how.shear));
  const double aspect = static_cast<double>(height) / static_cast<double>(width);
  const AffineMap turn{size * std::cos(angle),           size * std::sin(angle) * aspect, 0.0,
                       -size * std::sin(angle) / aspect, size * std::cos(angle),          0.0};
  const AffineMap lean{1.0, shear * aspect};
  const AffineMap shift{1.0, 0.0, 2.0 * between(-how.shift, how.shift),
                        0.0, 1.0, 2.0 * between(-how.shift, how.shift)};
  return compose(crop, compose(flip, compose(turn, compose(lean, shift))));
}

void warp(const float* from, const PixelPlanes& shape, const AffineMap& map, std::span<const float> fill,
          float* to) {
  for (std::int64_t row = 0; row < shape.height; ++row)
    for (std::int64_t column = 0; column < shape.width; ++column) {
      const Corners at = corners_of(map, shape, row, column);
      for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
        const float outside = fill[static_cast<std::size_t>(channel)];
        const auto pixel = [&](std::int64_t y, std::int64_t x) {
          if (x < 0 || y < 0 || x >= shape.width || y >= shape.height) return outside;
          return from[(channel * shape.height + y) * shape.width + x];
        };
        const float above = (1.0f - at.right) * pixel(at.y, at.x) + at.right * pixel(at.y, at.x + 1);
        const float below = (1.0f - at.right) * pixel(at.y + 1, at.x) + at.right * pixel(at.y + 1, at.x + 1);
        to[(channel * shape.height + row) * shape.width + column] =
            (1.0f - at.down) * above + at.down * below;
      }
    }
}

}  // namespace regard::data
