// Reference implementation of softmax and log-softmax of kernels/rows.h, forward and backward. x, y and their
// gradients are contiguous [rows, columns].
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/namespaces.h"

namespace regard::ops::plain {

// Return log Σ exp x of one row, or −∞ for a row of −∞. The maximum is subtracted before exp.
template <class Real>
Real log_sum_exp(const Real* x, std::int64_t columns) {
  Real maximum = -std::numeric_limits<Real>::infinity();
  for (std::int64_t c = 0; c < columns; ++c) maximum = x[c] > maximum ? x[c] : maximum;
  if (std::isinf(maximum) && maximum < 0) return maximum;
  Real sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(x[c] - maximum);
  return maximum + std::log(sum);
}

// Compute y = softmax(x) for each row. For a row of −∞, the result is zeros.
template <class Real>
void softmax(const Real* x, Real* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const Real lse = log_sum_exp(x, columns);
    for (std::int64_t c = 0; c < columns; ++c) y[c] = std::isinf(lse) && lse < 0 ? 0 : std::exp(x[c] - lse);
  }
}

// dx = y ∘ (dy − Σ dy y)
template <class Real>
void softmax_backward(const Real* y, const Real* dy, Real* dx, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, y += columns, dy += columns, dx += columns) {
    Real dot = 0;
    for (std::int64_t c = 0; c < columns; ++c) dot += dy[c] * y[c];
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = y[c] * (dy[c] - dot);
  }
}

template <class Real>
void log_softmax(const Real* x, Real* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const Real lse = log_sum_exp(x, columns);
    for (std::int64_t c = 0; c < columns; ++c) y[c] = std::isinf(lse) && lse < 0 ? lse : x[c] - lse;
  }
}

// dx = dy − exp(y) Σ dy
template <class Real>
void log_softmax_backward(const Real* y, const Real* dy, Real* dx, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, y += columns, dy += columns, dx += columns) {
    Real sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += dy[c];
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = dy[c] - std::exp(y[c]) * sum;
  }
}

}  // namespace regard::ops::plain
