// Symmetric Kullback–Leibler divergence between the distributions of two sets of logits, with gradients of
// both (R-Drop: Liang et al., "R-Drop: Regularized dropout for neural networks", NeurIPS 2021, equation 2):
//   ½ (KL(p‖q) + KL(q‖p)), p = softmax(first), q = softmax(second)
#pragma once

#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1]: `factor` times the sum of the divergences of all rows whose label is not `ignored`.
// The sum is computed in order in double precision. first, second: [rows, classes]; labels: [rows], which
// must stay valid until the backward pass.
Var symmetric_divergence(Tape& tape, Var first, Var second, std::span<const std::int32_t> labels,
                         std::int32_t ignored, float factor);

}  // namespace regard::ops
