// Rearranging A and B for the tiles: pure copies, so they cannot change a bit.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/simd/masked.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using Floats = hn::ScalableTag<float>;
constexpr std::int64_t kLanes = hn::MaxLanes(Floats());

// out [k, width] from b [k, columns]
void pack_rows(const float* b, std::int64_t ldb, std::int64_t k, std::int64_t columns, std::int64_t width,
               float* out) {
  const Floats d;
  for (std::int64_t step = 0; step < k; ++step, b += ldb, out += width) {
    std::int64_t column = 0;
    for (; column + kLanes <= columns; column += kLanes) hn::Store(hn::LoadU(d, b + column), d, out + column);
    if (column < columns) hn::Store(load_first(d, b + column, columns - column), d, out + column);
  }
}

// Four consecutive floats of one column of op(B), or those of them that exist.
using Quad = hn::FixedTag<float, 4>;
struct QuadSource {
  const float* b;  // at the step of k
  std::int64_t ldb, columns, steps;
  hn::Vec<Quad> operator()(std::int64_t column) const {
    const Quad d;
    if (column >= columns) return hn::Zero(d);
    const float* from = b + column * ldb;
    return load_first(d, from, steps);
  }
};

// Lane block i holds four steps of column `column + 4 i`.
template <class D>
hn::Vec<D> load_quads(D d, const QuadSource& source, std::int64_t column) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return source(column);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kHalf = hn::MaxLanes(hn::Half<D>());
    return hn::Combine(d, load_quads(half, source, column + kHalf), load_quads(half, source, column));
  }
}

// out [k, width] from b [columns, k]: 4 × 4 transposes in every 128-bit block.
void pack_columns(const float* b, std::int64_t ldb, std::int64_t k, std::int64_t columns, std::int64_t width,
                  float* out) {
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  for (std::int64_t step = 0; step < k; step += 4) {
    const std::int64_t steps = k - step < 4 ? k - step : 4;
    const QuadSource source{b + step, ldb, columns, steps};
    for (std::int64_t column = 0; column < width; column += kLanes) {
      const auto row0 = load_quads(d, source, column), row1 = load_quads(d, source, column + 1);
      const auto row2 = load_quads(d, source, column + 2), row3 = load_quads(d, source, column + 3);
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
      const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
      const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
      float* to = out + step * width + column;
      hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
      if (steps > 1) hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + width);
      if (steps > 2) hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * width);
      if (steps > 3) hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * width);
    }
  }
}

// out [k, stride] from a [k, rows], rows ≤ stride; what lies beyond `rows` is left as it is.
void pack_sliver(const float* a, std::int64_t lda, std::int64_t k, std::int64_t rows, std::int64_t stride,
                 float* out) {
  const Floats d;
  for (std::int64_t step = 0; step < k; ++step, a += lda, out += stride)
    for (std::int64_t row = 0; row < rows; row += kLanes)
      store_first(load_first(d, a + row, rows - row), d, out + row, rows - row);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
