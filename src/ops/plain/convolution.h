// Reference implementation of ops::convolution for one sequence.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/frame_window.h"

namespace regard::ops::plain {

struct Convolution {
  std::int64_t frames = 0, in = 0, out = 0, groups = 1;
  FrameWindow window;
};

// Compute y [output frames, out] from x [frames, in], weight [out, in / groups, kernel], bias [out] or null.
template <class Real>
void convolution(const Convolution& shape, const Real* x, const Real* weight, const Real* bias, Real* y) {
  const std::int64_t channels = shape.in / shape.groups, outputs = shape.out / shape.groups;
  const FrameWindow& window = shape.window;
  for (std::int64_t t = 0; t < window.output_frames(shape.frames); ++t)
    for (std::int64_t o = 0; o < shape.out; ++o) {
      Real sum = bias == nullptr ? 0 : bias[o];
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t k = 0; k < window.kernel; ++k) {
          const std::int64_t frame = t * window.stride + k - window.padding;
          if (frame < 0 || frame >= shape.frames) continue;
          sum += weight[(o * channels + c) * window.kernel + k] *
                 x[frame * shape.in + o / outputs * channels + c];
        }
      y[t * shape.out + o] = sum;
    }
}

}  // namespace regard::ops::plain
