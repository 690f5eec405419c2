// Reference implementation of cross-entropy with label smoothing, as defined by PyTorch:
//   loss = (1 − s) (lse − x_target) + s (lse − mean x), or 0 if target = ignore_index
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/plain/softmax.h"

namespace regard::ops::plain {

struct CrossEntropy {
  std::int64_t rows = 0, classes = 0;
  double label_smoothing = 0.0;
  std::int32_t ignore_index = -100;
};

// logits: [rows, classes]; loss: [rows]
template <class Real>
void cross_entropy(const CrossEntropy& shape, const Real* logits, const std::int32_t* targets, Real* loss) {
  const Real smoothing = static_cast<Real>(shape.label_smoothing);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const Real* x = logits + row * shape.classes;
    loss[row] = 0;
    if (targets[row] == shape.ignore_index) continue;
    const Real lse = log_sum_exp(x, shape.classes);
    Real smooth = 0;
    for (std::int64_t c = 0; c < shape.classes; ++c) smooth += lse - x[c];
    loss[row] = (1 - smoothing) * (lse - x[targets[row]]);
    if (smoothing != 0) loss[row] += smoothing * smooth / static_cast<Real>(shape.classes);
  }
}

// Compute gradient [rows, classes] = factor (softmax − (1 − s) one-hot − s / classes)
template <class Real>
void cross_entropy_backward(const CrossEntropy& shape, const Real* logits, const std::int32_t* targets,
                            Real factor, Real* gradient) {
  const Real smoothing = static_cast<Real>(shape.label_smoothing);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const Real* x = logits + row * shape.classes;
    Real* dx = gradient + row * shape.classes;
    const bool counted = targets[row] != shape.ignore_index;
    const Real lse = log_sum_exp(x, shape.classes);
    for (std::int64_t c = 0; c < shape.classes; ++c) {
      const Real target =
          (c == targets[row] ? 1 - smoothing : 0) + smoothing / static_cast<Real>(shape.classes);
      dx[c] = counted ? factor * (std::exp(x[c] - lse) - target) : 0;
    }
  }
}

}  // namespace regard::ops::plain
