// Group norm (Wu and He 2018), the same as torch.nn.GroupNorm. Each group of adjacent channels in each
// sequence is normalised over all its frames and channels, then scaled and shifted per channel.
#pragma once

#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

struct GroupNormOptions {
  std::int64_t groups = 1;  // number of channel groups; must divide the number of channels
  double epsilon = 1e-5;    // constant added to the variance
  bool overwrite = false;   // if no gradient is needed, overwrite x with the result and return x
};

// Return the group norm of x [frames of all sequences, channels]; sums are computed in double. gain, bias:
// [channels] or null; offsets [sequences + 1]: first frame of each sequence. Throws usage if shapes do not
// match.
Var group_norm(Tape& tape, Var x, Var gain, Var bias, std::span<const std::int32_t> offsets,
               const GroupNormOptions& options);

}  // namespace regard::ops
