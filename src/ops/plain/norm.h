// Reference implementation of norm and norm_backward of kernels/rows.h: layer norm (Ba, Kiros, Hinton 2016)
// and RMS norm (Zhang and Sennrich 2019).
#pragma once

#include <cmath>
#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops::plain {

template <class Real>
struct Norm {
  std::int64_t rows = 0, columns = 0;
  Real epsilon = static_cast<Real>(1e-5);
  bool rms = false;
  Real gain_offset = 0;
  const Real* gain = nullptr;  // [columns]; null means 1
  const Real* bias = nullptr;  // [columns]; null means 0

  Real gain_at(std::int64_t c) const { return gain == nullptr ? 1 : gain[c] + gain_offset; }
};

template <class Real>
struct NormRow {
  Real mean = 0, inverse_deviation = 0;
};

template <class Real>
NormRow<Real> norm_statistics(const Norm<Real>& norm, const Real* x) {
  const Real size = static_cast<Real>(norm.columns);
  NormRow<Real> row;
  if (!norm.rms) {
    for (std::int64_t c = 0; c < norm.columns; ++c) row.mean += x[c];
    row.mean /= size;
  }
  Real variance = 0;
  for (std::int64_t c = 0; c < norm.columns; ++c) variance += (x[c] - row.mean) * (x[c] - row.mean);
  row.inverse_deviation = 1 / std::sqrt(variance / size + norm.epsilon);
  return row;
}

template <class Real>
void norm_forward(const Norm<Real>& norm, const Real* x, Real* y) {
  for (std::int64_t r = 0; r < norm.rows; ++r, x += norm.columns, y += norm.columns) {
    const NormRow<Real> row = norm_statistics(norm, x);
    for (std::int64_t c = 0; c < norm.columns; ++c)
      y[c] = (x[c] - row.mean) * row.inverse_deviation * norm.gain_at(c) +
             (norm.bias == nullptr ? 0 : norm.bias[c]);
  }
}

// Compute the gradients. dx is overwritten. The gradients of gain and bias are added to gain_gradient and
// bias_gradient [columns], which may be null.
template <class Real>
void norm_backward(const Norm<Real>& norm, const Real* x, const Real* dy, Real* dx, Real* gain_gradient,
                   Real* bias_gradient) {
  const Real size = static_cast<Real>(norm.columns);
  for (std::int64_t r = 0; r < norm.rows; ++r, x += norm.columns, dy += norm.columns, dx += norm.columns) {
    const NormRow<Real> row = norm_statistics(norm, x);
    Real mean_g = 0, mean_product = 0;
    for (std::int64_t c = 0; c < norm.columns; ++c) {
      const Real normed = (x[c] - row.mean) * row.inverse_deviation;
      mean_g += dy[c] * norm.gain_at(c) / size;
      mean_product += dy[c] * norm.gain_at(c) * normed / size;
      if (gain_gradient != nullptr) gain_gradient[c] += dy[c] * normed;
      if (bias_gradient != nullptr) bias_gradient[c] += dy[c];
    }
    if (norm.rms) mean_g = 0;
    for (std::int64_t c = 0; c < norm.columns; ++c) {
      const Real normed = (x[c] - row.mean) * row.inverse_deviation;
      dx[c] = row.inverse_deviation * (dy[c] * norm.gain_at(c) - mean_g - normed * mean_product);
    }
  }
}

}  // namespace regard::ops::plain
