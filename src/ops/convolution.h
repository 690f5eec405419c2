// 1-D convolution over the frames of each sequence of a ragged batch, the same as torch.nn.functional.conv1d:
//   y[t, o] = b[o] + Σ_c Σ_k W[o, c, k] x[t · stride + k − padding, first(o) + c]
// where first(o) is the first channel of o's group. Frames outside of the sequence are zero.
#pragma once

#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "ops/frame_window.h"
#include "ops/tape.h"

namespace regard::ops {

struct ConvolutionOptions {
  FrameWindow window;
  std::int64_t groups = 1;  // number of channel groups; must divide the channels of input and output
};

// Return [output frames of all sequences, out]; a sequence of n frames has window.output_frames(n) output
// frames. x: [frames of all sequences, in]; weight: [out, in / groups, kernel]; bias: [out] or null; offsets
// [sequences + 1]: first frame of each sequence in x. Throws usage if shapes do not match.
Var convolution(Tape& tape, Var x, Var weight, Var bias, std::span<const std::int32_t> offsets,
                const ConvolutionOptions& options);

// Return the offsets [sequences + 1] of the convolution's output, stored in the tape's arena.
std::span<const std::int32_t> convolved_offsets(Tape& tape, std::span<const std::int32_t> offsets,
                                                const FrameWindow& window);

}  // namespace regard::ops
