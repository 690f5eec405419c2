// Pillow's resampling (libImaging/Resample.c): if the image shrinks, the filter is widened by the same
// factor. Coefficients are fixed-point with 22 fractional bits, and results are rounded to bytes after each
// direction.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/image_processor.h"

namespace regard::data {
namespace {

constexpr int kPrecision = 32 - 8 - 2;

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double weight(Resampling filter, double x) {
  switch (filter) {
    case Resampling::box:
      return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case Resampling::bilinear:
      return std::max(0.0, 1.0 - std::abs(x));
    case Resampling::hamming:
      x = std::abs(x);
      if (x >= 1.0) return 0.0;
      // the constants have single precision, as in Pillow
      return sinc(x) * (double{0.54f} + double{0.46f} * std::cos(std::numbers::pi * x));
    case Resampling::bicubic: {
      constexpr double a = -0.5;
      x = std::abs(x);
      if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
      return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
    }
    case Resampling::lanczos:
      return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    case Resampling::nearest:
      break;
  }
  return 0.0;
}

double support(Resampling filter) {
  if (filter == Resampling::box) return 0.5;
  if (filter == Resampling::bicubic) return 2.0;
  return filter == Resampling::lanczos ? 3.0 : 1.0;
}

// The input pixels of one output pixel, [first, first + weights.size()), and their weights.
struct Tap {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Tap> taps_of(std::int64_t in, std::int64_t out, Resampling filter) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), widened = std::max(scale, 1.0);
  const double reach = support(filter) * widened;
  std::vector<Tap> taps(static_cast<std::size_t>(out));
  std::vector<double> exact;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
    const auto end = std::min(in, static_cast<std::int64_t>(centre + reach + 0.5));
    exact.clear();
    double sum = 0;
    for (std::int64_t x = first; x < end; ++x) {
      exact.push_back(weight(filter, (static_cast<double>(x) - centre + 0.5) * (1.0 / widened)));
      sum += exact.back();
    }
    taps[i].first = first;
    for (double w : exact) {
      if (sum != 0.0) w /= sum;
      taps[i].weights.push_back(static_cast<std::int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kPrecision)));
    }
  }
  return taps;
}

// Compute the three colours of one output pixel. Consecutive input pixels are `step` bytes apart.
void blend(const Tap& tap, const std::uint8_t* from, std::int64_t step, std::uint8_t* to) {
  for (int colour = 0; colour < 3; ++colour) {
    std::int32_t sum = 1 << (kPrecision - 1);
    const std::uint8_t* at = from + tap.first * step + colour;
    for (const std::int32_t w : tap.weights) {
      sum += *at * w;
      at += step;
    }
    to[colour] = static_cast<std::uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
  }
}

Image nearest(const Image& image, std::int64_t height, std::int64_t width) {
  Image out{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width))};
  const auto source = [](std::int64_t i, std::int64_t in, std::int64_t size) {
    const double scale = static_cast<double>(in) / static_cast<double>(size);
    return std::min(in - 1, static_cast<std::int64_t>((static_cast<double>(i) + 0.5) * scale));
  };
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      std::copy_n(image.at(source(y, image.height, height), source(x, image.width, width)), 3,
                  out.pixels.data() + 3 * (y * width + x));
  return out;
}

// Resize every row to another width.
Image resize_rows(const Image& image, std::int64_t width, Resampling filter) {
  if (width == image.width) return image;
  const std::vector<Tap> taps = taps_of(image.width, width, filter);
  Image out{image.height, width,
            std::vector<std::uint8_t>(static_cast<std::size_t>(3 * image.height * width))};
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      blend(taps[static_cast<std::size_t>(x)], image.at(y, 0), 3, out.pixels.data() + 3 * (y * width + x));
  return out;
}

// Resize every column to another height.
Image resize_columns(const Image& image, std::int64_t height, Resampling filter) {
  if (height == image.height) return image;
  const std::vector<Tap> taps = taps_of(image.height, height, filter);
  const std::int64_t width = image.width;
  Image out{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width))};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      blend(taps[static_cast<std::size_t>(y)], image.at(0, x), 3 * width,
            out.pixels.data() + 3 * (y * width + x));
  return out;
}

}  // namespace

Image resize(const Image& image, std::int64_t height, std::int64_t width, Resampling filter) {
  if (filter == Resampling::nearest && (height != image.height || width != image.width))
    return nearest(image, height, width);
  // The result depends on the order of the two directions, because pixels are rounded after the first. As in
  // Pillow 13, select the order for which this estimate predicts fewer computed pixels.
  const bool upright_first = height < image.height && image.height - height > 2 * (image.width - width);
  if (upright_first) return resize_rows(resize_columns(image, height, filter), width, filter);
  return resize_columns(resize_rows(image, width, filter), height, filter);
}

Image centre_crop(const Image& image, std::int64_t height, std::int64_t width) {
  // If an odd number of rows or columns is added, the larger part is added at the top or left.
  const auto begin = [](std::int64_t have, std::int64_t want) {
    return have >= want ? (have - want) / 2 : -((want - have + 1) / 2);
  };
  const std::int64_t top = begin(image.height, height), left = begin(image.width, width);
  Image out{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width), 0)};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      if (top + y >= 0 && top + y < image.height && left + x >= 0 && left + x < image.width)
        std::copy_n(image.at(top + y, left + x), 3, out.pixels.data() + 3 * (y * width + x));
  return out;
}

}  // namespace regard::data
