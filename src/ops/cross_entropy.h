// Cross-entropy with label smoothing (Szegedy et al. 2016; PyTorch's definition), where s is label_smoothing:
//   (1 − s) · (−log p_label) + s · mean over classes of −log p.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

struct CrossEntropyOptions {
  float label_smoothing = 0.0f;
  std::int32_t ignored = -100;  // rows with this label have loss 0 and gradient 0
  float factor = 1.0f;  // factor of the sum; 1 / (number of labels that are not ignored) gives the mean
};

// Return the scalar [1] factor · (sum over rows that are not ignored), summed in order in double precision.
// logits: [rows, classes]; labels: [rows], which must stay valid until the backward pass.
Var cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                  const CrossEntropyOptions& options = {});

// Like cross_entropy(), for logits = hidden Wᵀ + b. The logits are computed in chunks of rows, so only a part
// of them is in memory at a time. hidden: [rows, features]; weight: [classes, features]; bias: [classes] or
// null; packed: the packed weight, used if no gradient is needed. The forward pass also computes the
// gradients while the logits of a chunk are in memory; the backward pass only scales them.
Var linear_cross_entropy(Tape& tape, Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels,
                         const CrossEntropyOptions& options = {},
                         const kernels::PackedMatrix* packed = nullptr);

}  // namespace regard::ops
