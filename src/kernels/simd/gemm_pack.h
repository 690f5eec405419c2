// Pack the operands A and B for the register tiles. Values are copied unchanged.
#pragma once

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/gemm_table.h"
#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/masked.h"
#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {
namespace {

constexpr std::int64_t kFloatsInLine = 16;
constexpr std::int64_t kRowsAhead = 4;  // prefetch distance in rows of a strided source

struct PanelSource {
  const float* b = nullptr;
  std::int64_t ldb = 0, k = 0, columns = 0;
  PackedPanels out;
};

template <std::int64_t kWidth>
std::int64_t panel_width(const PanelSource& source, std::int64_t first_column) {
  const std::int64_t left = source.columns - first_column;
  return left >= kWidth ? kWidth : (left + kLanes - 1) / kLanes * kLanes;
}

// Pack b [k, columns] into panels [k, kWidth].
template <std::int64_t kWidth>
void pack_rows(const PanelSource& source) {
  const Floats d;
  for (std::int64_t step = 0; step < source.k; ++step) {
    const float* b = source.b + step * source.ldb;
    float* out = source.out.data + (source.out.start + step) * kWidth;
    std::int64_t column = 0;
    for (; column + kWidth <= source.columns; column += kWidth, out += source.out.panel) {
      for (std::int64_t i = 0; i < kWidth; i += kFloatsInLine)
        hwy::Prefetch(b + kRowsAhead * source.ldb + column + i);
      for (std::int64_t i = 0; i < kWidth; i += kLanes) hn::Store(hn::LoadU(d, b + column + i), d, out + i);
    }
    out = source.out.data + column / kWidth * source.out.panel +
          (source.out.start + step) * panel_width<kWidth>(source, column);
    for (std::int64_t i = 0; column + i < source.columns; i += kLanes)
      hn::Store(load_first(d, b + column + i, source.columns - column - i), d, out + i);
  }
}

// Load a vector whose 128-bit block i contains four consecutive elements of column 4 i. Columns are `ldb`
// floats apart.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* b, std::int64_t ldb) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, b);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kHalf = hn::MaxLanes(hn::Half<D>());
    return hn::Combine(d, load_quads(half, b + kHalf * ldb, ldb), load_quads(half, b, ldb));
  }
}

// Elements of kLanes columns at four consecutive steps of k, one vector per step.
struct Quads {
  FloatVector step[4];
};

// Load four vectors with load_quads() and transpose the 4 × 4 matrices whose rows are their 128-bit blocks.
HWY_INLINE Quads transposed_quads(const float* b, std::int64_t ldb) {
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  const auto row0 = load_quads(d, b, ldb), row1 = load_quads(d, b + ldb, ldb);
  const auto row2 = load_quads(d, b + 2 * ldb, ldb), row3 = load_quads(d, b + 3 * ldb, ldb);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
  return {{hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)),
           hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)),
           hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)),
           hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23))}};
}

// Transpose four steps of k of kLanes columns, and store one vector per step to `out`, `width` floats apart.
HWY_INLINE void transpose_quads(const float* b, std::int64_t ldb, float* out, std::int64_t width) {
  const Quads quads = transposed_quads(b, ldb);
  for (int step = 0; step < 4; ++step) hn::Store(quads.step[step], Floats(), out + step * width);
}

// Same as transpose_quads(), but there may be fewer than kLanes columns and fewer than four steps of k. Lanes
// of missing columns are stored as zero.
void transpose_rest(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t steps, float* out,
                    std::int64_t width) {
  const hn::FixedTag<float, 4> quad;
  HWY_ALIGN float copy[kLanes * 4], result[kLanes * 4];
  for (std::int64_t column = 0; column < kLanes; ++column) {
    const auto values = column < columns ? load_first(quad, b + column * ldb, steps) : hn::Zero(quad);
    hn::Store(values, quad, copy + column * 4);
  }
  transpose_quads(copy, 4, result, kLanes);
  const Floats d;
  for (std::int64_t step = 0; step < steps && step < 4; ++step)
    hn::Store(hn::Load(d, result + step * kLanes), d, out + step * width);
}

// Pack b [columns, k] into panels [k, kWidth].
template <std::int64_t kWidth>
void pack_columns(const PanelSource& source) {
  for (std::int64_t column = 0; column < source.columns; column += kLanes) {
    const std::int64_t first = column / kWidth * kWidth;
    const std::int64_t width = panel_width<kWidth>(source, first);
    const std::int64_t columns = source.columns - column;
    const float* b = source.b + column * source.ldb;
    float* out =
        source.out.data + first / kWidth * source.out.panel + source.out.start * width + (column - first);
    std::int64_t step = 0;
    for (; columns >= kLanes && step + 4 <= source.k; step += 4) {
      // Prefetch one cache line of each of the next kLanes columns.
      if (step % kFloatsInLine == 0 && columns >= 2 * kLanes)
        for (std::int64_t i = 0; i < kLanes; ++i) hwy::Prefetch(b + (kLanes + i) * source.ldb + step);
      transpose_quads(b + step, source.ldb, out + step * width, width);
    }
    for (; step < source.k; step += 4)
      transpose_rest(b + step, source.ldb, columns, source.k - step, out + step * width, width);
  }
}

// Copy exactly kCount floats, using vectors whose sizes are powers of two.
template <int kCount>
HWY_INLINE void copy_floats(const float* from, float* to) {
  if constexpr (kCount > 0) {
    constexpr int kPart = kCount >= kLanes ? static_cast<int>(kLanes)
                          : kCount >= 8    ? 8
                          : kCount >= 4    ? 4
                          : kCount >= 2    ? 2
                                           : 1;
    const hn::CappedTag<float, kPart> d;
    hn::StoreU(hn::LoadU(d, from), d, to);
    copy_floats<kCount - kPart>(from + kPart, to + kPart);
  }
}

// Pack transposed A [k, rows] into slivers [k, kRows], reading A sequentially. Elements beyond `rows` in the
// last sliver are not written.
template <int kRows>
void pack_slivers(const float* a, std::int64_t lda, std::int64_t k, std::int64_t rows,
                  const PackedPanels& out) {
  for (std::int64_t step = 0; step < k; ++step, a += lda) {
    for (std::int64_t row = 0; row < rows; row += kFloatsInLine) hwy::Prefetch(a + kRowsAhead * lda + row);
    float* to = out.data + (out.start + step) * kRows;
    std::int64_t row = 0;
    for (; row + kRows <= rows; row += kRows, to += out.panel) copy_floats<kRows>(a + row, to);
    for (std::int64_t i = 0; row + i < rows; ++i) to[i] = a[row + i];
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
