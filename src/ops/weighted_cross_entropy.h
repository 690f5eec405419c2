// Cross-entropy with a weight for each class and label smoothing (torch.nn.CrossEntropyLoss with `weight`).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/cross_entropy.h"

namespace regard::ops {

// Return a scalar [1]: the factor times the sum of the losses of all rows whose label is not ignored. The
// loss of a row, where s is label_smoothing, is
//   (1 − s) · w_label · (−log p_label) + s · mean over classes c of w_c · (−log p_c)
// PyTorch's mean has factor 1 / Σ w_label. logits: [rows, classes]; labels: [rows]; weights: [classes].
// `labels` and `weights` need not stay valid after the call.
Var weighted_cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                           std::span<const float> weights, const CrossEntropyOptions& options = {});

}  // namespace regard::ops
