// Reference implementation of ops::group_norm for one sequence.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops::plain {

// Compute y [frames, channels] from x [frames, channels], gain and bias [channels] or null.
template <class Real>
void group_norm(std::int64_t frames, std::int64_t channels, std::int64_t groups, Real epsilon, const Real* x,
                const Real* gain, const Real* bias, Real* y) {
  const std::int64_t in_group = channels / groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto each = [&](auto&& body) {
      for (std::int64_t t = 0; t < frames; ++t)
        for (std::int64_t c = g * in_group; c < (g + 1) * in_group; ++c) body(t * channels + c, c);
    };
    Real mean = 0, variance = 0;
    const Real size = static_cast<Real>(frames * in_group);
    each([&](std::int64_t i, std::int64_t) { mean += x[i] / size; });
    each([&](std::int64_t i, std::int64_t) { variance += (x[i] - mean) * (x[i] - mean) / size; });
    each([&](std::int64_t i, std::int64_t c) {
      y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * (gain == nullptr ? 1 : gain[c]) +
             (bias == nullptr ? 0 : bias[c]);
    });
  }
}

}  // namespace regard::ops::plain
