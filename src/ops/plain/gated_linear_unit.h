// Reference implementation of the gated linear unit.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/plain/activation.h"

namespace regard::ops::plain {

// Compute y [rows, features] from x [rows, 2 · features]: each row of y is the first half of the row of x,
// multiplied element by element by the sigmoid of the second half.
template <class Real>
void gated_linear_unit(std::int64_t rows, std::int64_t features, const Real* x, Real* y) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < features; ++c)
      y[r * features + c] = x[2 * r * features + c] * sigmoid(x[2 * r * features + features + c]);
}

}  // namespace regard::ops::plain
