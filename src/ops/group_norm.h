// Group norm (Wu and He 2018), as torch.nn.GroupNorm: in each sequence, every group of adjacent channels is
// normalised over all its frames and channels, then scaled and shifted per channel.
#pragma once

#include <cstdint>
#include <span>

#include "ops/tape.h"

namespace regard::ops {

struct GroupNormOptions {
  std::int64_t groups = 1;  // must divide the channels
  double epsilon = 1e-5;    // added to the variance
  bool overwrite = false;   // if no gradient is needed, write the result over x and return x
};

// x [frames of all sequences, channels], gain and bias [channels] or null, offsets [sequences + 1] → x's
// shape. Sums are computed in double. Throws usage for shapes that do not fit.
Var group_norm(Tape& tape, Var x, Var gain, Var bias, std::span<const std::int32_t> offsets,
               const GroupNormOptions& options);

}  // namespace regard::ops
