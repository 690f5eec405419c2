// Reference implementation of ops::dropout, with the draws defined in kernels/rows.h.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "kernels/dropout_draw.h"

namespace regard::ops::plain {

// Compute y = dropout(x) for x [rows, columns]. An element's draw depends on its sequence's index, its
// position and its column.
template <class Real>
void dropout(const RandomKey& key, float rate, const std::uint64_t* sequence_index,
             const std::int32_t* position, const Real* x, Real* y, std::int64_t rows, std::int64_t columns) {
  const kernels::DropoutDraw draw = kernels::dropout_draw(key, rate);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const Counter block = philox(
          {static_cast<std::uint32_t>(sequence_index[r]), static_cast<std::uint32_t>(sequence_index[r] >> 32),
           static_cast<std::uint32_t>(position[r]), static_cast<std::uint32_t>(c / 8)},
          draw.key0, draw.key1);
      y[r * columns + c] =
          x[r * columns + c] * static_cast<Real>(draw.factor(block, static_cast<std::size_t>(c % 8)));
    }
}

}  // namespace regard::ops::plain
