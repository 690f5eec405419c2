// Reference implementation of ops::add_low_rank.
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops::plain {

struct LowRank {
  std::int64_t tokens = 0, in = 0, rank = 0, out = 0;
  std::int64_t features = 0, column = 0;  // features: columns of y; column: first column to update
};

// Compute y[t, column + o] += scale · Σ_r b[o, r] Σ_i a[r, i] x[t, i]
template <class Real>
void add_low_rank(const LowRank& shape, Real scale, const Real* x, const Real* a, const Real* b, Real* y) {
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    for (std::int64_t r = 0; r < shape.rank; ++r) {
      Real inner = 0;
      for (std::int64_t i = 0; i < shape.in; ++i) inner += a[r * shape.in + i] * x[t * shape.in + i];
      for (std::int64_t o = 0; o < shape.out; ++o)
        y[t * shape.features + shape.column + o] += scale * b[o * shape.rank + r] * inner;
    }
}

}  // namespace regard::ops::plain
