// The window of a 1-D convolution or pooling, and the number of frames in its output.
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops {

struct FrameWindow {
  std::int64_t kernel = 1, stride = 1;
  std::int64_t padding = 0, padding_end = 0;  // frames of zeros before and after each sequence

  // Return (frames + padding + padding_end − kernel) / stride + 1, or 0 if there are no frames or the padded
  // sequence is shorter than the kernel.
  std::int64_t output_frames(std::int64_t frames) const {
    const std::int64_t last_start = frames + padding + padding_end - kernel;
    return frames <= 0 || last_start < 0 ? 0 : last_start / stride + 1;
  }
  // Return the smallest number of frames, at least 1, that results in `wanted` output frames; wanted ≥ 1.
  std::int64_t input_frames(std::int64_t wanted) const {
    const std::int64_t frames = (wanted - 1) * stride + kernel - padding - padding_end;
    return frames > 1 ? frames : 1;
  }
};

}  // namespace regard::ops
