// Reference implementation of ops::linear.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/plain/activation.h"

namespace regard::ops::plain {

struct Linear {
  std::int64_t tokens = 0, in = 0, out = 0;
  bool transposed = false;  // true if the weight is [in, out], false if it is [out, in]
  kernels::Activation activation = kernels::Activation::none;
};

// Compute y = activation(x Wᵀ + b) + residual; bias and residual may be null.
template <class Real>
void linear(const Linear& shape, const Real* x, const Real* weight, const Real* bias, const Real* residual,
            Real* y) {
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    for (std::int64_t o = 0; o < shape.out; ++o) {
      Real sum = 0;
      for (std::int64_t i = 0; i < shape.in; ++i)
        sum += x[t * shape.in + i] * weight[shape.transposed ? i * shape.out + o : o * shape.in + i];
      if (bias != nullptr) sum += bias[o];
      y[t * shape.out + o] = activation(shape.activation, sum);
      if (residual != nullptr) y[t * shape.out + o] += residual[t * shape.out + o];
    }
}

}  // namespace regard::ops::plain
