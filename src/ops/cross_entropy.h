// Cross-entropy with label smoothing (Szegedy et al. 2016; PyTorch's definition):
//   (1 − s) · (−log p_label) + s · mean over classes of −log p.
#pragma once

#include <span>

#include "kernels/gemm.h"
#include "ops/tape.h"

namespace regard::ops {

struct CrossEntropyOptions {
  float label_smoothing = 0.0f;
  std::int32_t ignored = -100;  // a row with this label: loss 0, gradient 0
  float factor = 1.0f;          // of the sum; 1 / counted labels gives the mean (NaN where none counts)
};

// logits [rows, classes], labels [rows] → scalar [1]: factor × the sum over the rows that count. Rows are
// added in order, in double. The labels stay where they are until the backward pass.
Var cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                  const CrossEntropyOptions& options = {});

// The same of logits = hidden Wᵀ + b, computed a few rows at a time so that [rows × classes] never stands in
// memory. hidden [rows, features], weight [classes, features], bias [classes] or null; `packed`: the weight
// rearranged, used where no gradient is wanted. The gradients are computed with the value, while a chunk's
// logits are there, and only handed on by the backward pass.
Var linear_cross_entropy(Tape& tape, Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels,
                         const CrossEntropyOptions& options = {},
                         const kernels::PackedMatrix* packed = nullptr);

}  // namespace regard::ops
