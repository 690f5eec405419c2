#include "data/fft.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

namespace regard::data {
namespace {

std::int64_t next_radix(std::int64_t size) {
  for (const std::int64_t radix : {5, 4, 3, 2})
    if (size % radix == 0) return radix;
  for (std::int64_t radix = 7; radix * radix <= size; radix += 2)
    if (size % radix == 0) return radix;
  return size;
}

}  // namespace

Fft::Fft(std::int64_t size) : size_(size) {
  for (std::int64_t rest = size, stride = 1; rest > 1;) {
    Stage stage{next_radix(rest), 0, stride, {}, {}, {}, {}};
    stage.groups = rest / stage.radix;
    const auto angle = [](std::int64_t turns, std::int64_t whole) {
      return -2.0 * std::numbers::pi * static_cast<double>(turns % whole) / static_cast<double>(whole);
    };
    for (std::int64_t q = 0; q < stage.groups; ++q)
      for (std::int64_t r = 0; r < stage.radix; ++r) {
        stage.cosine.push_back(std::cos(angle(q * r, rest)));
        stage.sine.push_back(std::sin(angle(q * r, rest)));
      }
    for (std::int64_t j = 0; j < stage.radix; ++j) {
      stage.root_cos.push_back(std::cos(angle(j, stage.radix)));
      stage.root_sin.push_back(std::sin(angle(j, stage.radix)));
    }
    rest = stage.groups;
    stride *= stage.radix;
    stages_.push_back(std::move(stage));
  }
}

void Fft::transform(double* real, double* imaginary, double* scratch) const {
  double *from_real = real, *from_imaginary = imaginary, *to_real = scratch,
         *to_imaginary = scratch + size_ * kLanes;
  std::vector<double> points;
  for (const Stage& stage : stages_) {
    const bool needs_points = stage.radix != 2 && stage.radix != 4 && stage.radix != 5;
    if (needs_points) points.resize(static_cast<std::size_t>(2 * stage.radix * kLanes));
    kernels::fourier_stage({stage.radix, stage.groups, stage.stride, stage.cosine.data(), stage.sine.data(),
                            stage.root_cos.data(), stage.root_sin.data(), from_real, from_imaginary, to_real,
                            to_imaginary, needs_points ? points.data() : nullptr});
    std::swap(from_real, to_real), std::swap(from_imaginary, to_imaginary);
  }
  if (from_real == real) return;
  const auto bytes = static_cast<std::size_t>(size_ * kLanes) * sizeof(double);
  std::memcpy(real, from_real, bytes);
  std::memcpy(imaginary, from_imaginary, bytes);
}

}  // namespace regard::data
