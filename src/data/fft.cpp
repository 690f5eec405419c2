#include "data/fft.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

namespace regard::data {
namespace {

constexpr std::int64_t kLanes = Fft::kLanes;

// One complex element of kLanes transforms.
struct Lane {
  double real[kLanes], imaginary[kLanes];
};

struct Planes {
  double* __restrict real;
  double* __restrict imaginary;

  Lane load(std::int64_t at) const {
    Lane lane;
    std::memcpy(lane.real, real + at * kLanes, sizeof lane.real);
    std::memcpy(lane.imaginary, imaginary + at * kLanes, sizeof lane.imaginary);
    return lane;
  }
  // Store lane · (cosine + i · sine).
  void store(std::int64_t at, const Lane& lane, double cosine, double sine) const {
    double* __restrict re = real + at * kLanes;
    double* __restrict im = imaginary + at * kLanes;
    for (std::int64_t l = 0; l < kLanes; ++l) {
      re[l] = lane.real[l] * cosine - lane.imaginary[l] * sine;
      im[l] = lane.real[l] * sine + lane.imaginary[l] * cosine;
    }
  }
};

// Return a + f · b for complex a and b and real f.
Lane sum(const Lane& a, const Lane& b, double f) {
  Lane to;
  for (std::int64_t l = 0; l < kLanes; ++l) to.real[l] = a.real[l] + f * b.real[l];
  for (std::int64_t l = 0; l < kLanes; ++l) to.imaginary[l] = a.imaginary[l] + f * b.imaginary[l];
  return to;
}

// Return a + f · i · b for complex a and b and real f.
Lane sum_turned(const Lane& a, const Lane& b, double f) {
  Lane to;
  for (std::int64_t l = 0; l < kLanes; ++l) to.real[l] = a.real[l] - f * b.imaginary[l];
  for (std::int64_t l = 0; l < kLanes; ++l) to.imaginary[l] = a.imaginary[l] + f * b.real[l];
  return to;
}

Lane times_factor(const Lane& a, double f) {
  Lane to;
  for (std::int64_t l = 0; l < kLanes; ++l) to.real[l] = f * a.real[l];
  for (std::int64_t l = 0; l < kLanes; ++l) to.imaginary[l] = f * a.imaginary[l];
  return to;
}

void butterfly2(Lane* a) {
  const Lane first = a[0];
  a[0] = sum(first, a[1], 1.0);
  a[1] = sum(first, a[1], -1.0);
}

void butterfly4(Lane* a) {
  const Lane even = sum(a[0], a[2], 1.0), odd = sum(a[0], a[2], -1.0);
  const Lane plus = sum(a[1], a[3], 1.0), minus = sum(a[1], a[3], -1.0);
  a[0] = sum(even, plus, 1.0);
  a[1] = sum_turned(odd, minus, -1.0);
  a[2] = sum(even, plus, -1.0);
  a[3] = sum_turned(odd, minus, 1.0);
}

void butterfly5(Lane* a) {
  constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
  constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
  const Lane outer = sum(a[1], a[4], 1.0), inner = sum(a[2], a[3], 1.0);
  const Lane outer_difference = sum(a[1], a[4], -1.0), inner_difference = sum(a[2], a[3], -1.0);
  const Lane near = sum(sum(a[0], outer, c1), inner, c2), far = sum(sum(a[0], outer, c2), inner, c1);
  const Lane near_turn = sum(times_factor(outer_difference, s1), inner_difference, s2);
  const Lane far_turn = sum(times_factor(outer_difference, s2), inner_difference, -s1);
  a[0] = sum(sum(a[0], outer, 1.0), inner, 1.0);
  a[1] = sum_turned(near, near_turn, -1.0);
  a[4] = sum_turned(near, near_turn, 1.0);
  a[2] = sum_turned(far, far_turn, -1.0);
  a[3] = sum_turned(far, far_turn, 1.0);
}

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
  Planes from{real, imaginary}, to{scratch, scratch + size_ * kLanes};
  std::vector<Lane> a;
  for (const Stage& stage : stages_) {
    const std::int64_t radix = stage.radix;
    Lane few[5];
    if (radix > 5) a.resize(static_cast<std::size_t>(radix));
    Lane* const points = radix > 5 ? a.data() : few;
    for (std::int64_t q = 0; q < stage.groups; ++q)
      for (std::int64_t k = 0; k < stage.stride; ++k) {
        for (std::int64_t j = 0; j < radix; ++j)
          points[j] = from.load(k + stage.stride * (q + stage.groups * j));
        const double* cosine = stage.cosine.data() + q * radix;
        const double* sine = stage.sine.data() + q * radix;
        const std::int64_t first = k + stage.stride * radix * q;
        if (radix == 2) butterfly2(points);
        if (radix == 4) butterfly4(points);
        if (radix == 5) butterfly5(points);
        for (std::int64_t r = 0; r < radix; ++r) {
          Lane value = points[0];
          if (radix == 2 || radix == 4 || radix == 5) {
            value = points[r];
          } else {
            for (std::int64_t j = 1; j < radix; ++j) {
              const auto root = static_cast<std::size_t>(j * r % radix);
              value = sum(value, points[j], stage.root_cos[root]);
              value = sum_turned(value, points[j], stage.root_sin[root]);
            }
          }
          to.store(first + stage.stride * r, value, cosine[r], sine[r]);
        }
      }
    std::swap(from, to);
  }
  if (from.real == real) return;
  const auto bytes = static_cast<std::size_t>(size_ * kLanes) * sizeof(double);
  std::memcpy(real, from.real, bytes);
  std::memcpy(imaginary, from.imaginary, bytes);
}

}  // namespace regard::data
