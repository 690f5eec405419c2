// Reference implementation of the gated linear unit.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/plain/activation.h"

namespace regard::ops::plain {

// Compute y[r, c] = x[r, c] · σ(x[r, features + c]) for x [rows, 2 · features] and y [rows, features].
template <class Real>
void gated_linear_unit(std::int64_t rows, std::int64_t features, const Real* x, Real* y) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < features; ++c)
      y[r * features + c] = x[2 * r * features + c] * sigmoid(x[2 * r * features + features + c]);
}

}  // namespace regard::ops::plain
