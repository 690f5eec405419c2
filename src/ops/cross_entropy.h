// Cross-entropy with label smoothing (Szegedy et al. 2016; PyTorch's definition). The loss of a row is
//   (1 − s) · (−log p_label) + s · mean over classes of −log p
// where s is label_smoothing.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

struct CrossEntropyOptions {
  float label_smoothing = 0.0f;
  std::int32_t ignored = -100;  // rows with this label have loss 0 and gradient 0
  // Factor of the sum of the losses; 1 / (number of labels that are not ignored) gives their mean.
  float factor = 1.0f;
};

// Return a scalar [1]: options.factor times the sum of the losses of all rows. The sum is computed in order
// in double precision. logits: [rows, classes]; labels: [rows], which must stay valid until the backward
// pass.
Var cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                  const CrossEntropyOptions& options = {});

// Return cross_entropy() of the logits hidden Wᵀ + b. The logits are computed in chunks of rows; only one
// chunk is in memory at a time. hidden: [rows, features]; weight: [classes, features]; bias: [classes] or
// null; packed: the packed weight, used if no gradient is needed.
Var linear_cross_entropy(Tape& tape, Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels,
                         const CrossEntropyOptions& options = {},
                         const kernels::PackedMatrix* packed = nullptr);

}  // namespace regard::ops
