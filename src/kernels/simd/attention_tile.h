// The products inside attention: small matrices in scratch, padded to whole vectors, multiplied by the tiles
// of gemm_kernel.h. Every element is one chain over k in order, so the cut into tiles does not show.
#pragma once

#include <cstdint>

#include "kernels/simd/gemm_kernel.h"
#include "kernels/simd/gemm_pack.h"
#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Rows of a tile by its vectors: the sums, one step of B and one broadcast fill the registers.
#if HWY_TARGET == HWY_AVX2
constexpr int kMostRows[3] = {12, 6, 4};
#else
constexpr int kMostRows[3] = {12, 12, 8};
#endif

constexpr std::int64_t kPanelVectors = 3;
constexpr std::int64_t kPanel = kPanelVectors * kLanes;  // queries side by side on the lanes

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b * b;
}
constexpr std::int64_t pad(std::int64_t columns) {
  return round_up(columns, kLanes);
}

// Rows are padded to even numbers: half the tiles, and no row of scratch that does not exist.
constexpr std::int64_t kRowStep = 2;

template <int kVectors, Layout kLayout>
void multiply_rows(std::int64_t rows, const Tile& tile) {
  switch (rows) {
#define REGARD_TILE(n)                                  \
  case n:                                               \
    if constexpr (n <= kMostRows[kVectors - 1]) {       \
      return multiply_tile<n, kVectors, kLayout>(tile); \
    }                                                   \
    return;
    REGARD_TILE(2)
    REGARD_TILE(4)
    REGARD_TILE(6)
    REGARD_TILE(8)
    REGARD_TILE(10)
    REGARD_TILE(12)
#undef REGARD_TILE
    default:
      return;
  }
}

// How many vectors of columns to take next, so that none is left alone where that can be helped.
constexpr int next_vectors(std::int64_t left) {
  if (left == 1) return 1;
  return left == 2 || left == 4 || (left % 3 != 0 && left % 2 == 0) ? 2 : 3;
}

// As many rows at once as the tiles for this many vectors of columns allow.
constexpr std::int64_t rows_at_once(std::int64_t vectors) {
  std::int64_t rows = kMostRows[0];
  for (std::int64_t left = vectors; left > 0; left -= next_vectors(left))
    rows = smaller(rows, kMostRows[next_vectors(left) - 1]);
  return rows;
}

struct Operands {
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;
};

// C [rows ≤ rows_at_once(vectors), vectors] for one sliver of rows.
template <Layout kLayout>
void multiply_sliver(std::int64_t rows, std::int64_t vectors, const Operands& operands) {
  Tile tile;
  tile.k = operands.k;
  tile.a = operands.a;
  tile.a_stride = operands.a_stride;
  tile.b_stride = operands.b_stride;
  tile.ldc = operands.ldc;
  tile.accumulate = operands.accumulate;
  for (std::int64_t vector = 0; vector < vectors;) {
    const int take = next_vectors(vectors - vector);
    tile.b = operands.b + vector * kLanes;
    tile.c = operands.c + vector * kLanes;
    tile.columns = take * kLanes;
    if (take == 1) multiply_rows<1, kLayout>(rows, tile);
    if (take == 2) multiply_rows<2, kLayout>(rows, tile);
    if (take == 3) multiply_rows<3, kLayout>(rows, tile);
    vector += take;
  }
}

// The height of slivers that cut `rows` evenly.
inline std::int64_t sliver_rows(std::int64_t rows, std::int64_t vectors) {
  const std::int64_t most = rows_at_once(vectors);
  const std::int64_t slivers = (rows + most - 1) / most;
  return slivers == 0 ? most : round_up((rows + slivers - 1) / slivers, kRowStep);
}

// C [rows, vectors]; rows even.
template <Layout kLayout>
void multiply_block(std::int64_t rows, std::int64_t vectors, const Operands& operands) {
  const std::int64_t step = sliver_rows(rows, vectors);
  Operands sliver = operands;
  for (std::int64_t row = 0; row < rows; row += step) {
    sliver.a = operands.a + row * (kLayout == Layout::along_k ? operands.a_stride : 1);
    sliver.c = operands.c + row * operands.ldc;
    multiply_sliver<kLayout>(smaller(step, rows - row), vectors, sliver);
  }
}

// Scratch handed out in 64-byte steps; without memory it only counts.
class Carver {
 public:
  explicit Carver(std::byte* memory) : memory_(memory) {}
  float* floats(std::int64_t count) {
    float* region = memory_ == nullptr ? nullptr : reinterpret_cast<float*>(memory_ + used_);
    used_ += static_cast<std::size_t>(round_up(count, 16)) * sizeof(float);
    return region;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

// out [round_up(rows, kRowStep), width] from rows of `columns` floats, padded with zeros.
inline void copy_rows(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                      float* out) {
  const Floats d;
  const std::int64_t width = pad(columns);
  for (std::int64_t row = 0; row < round_up(rows, kRowStep); ++row, out += width)
    for (std::int64_t column = 0; column < width; column += kLanes)
      hn::Store(row < rows ? load_first(d, from + row * stride + column, columns - column) : hn::Zero(d), d,
                out + column);
}

// out [columns, width] from rows of `columns` floats: rows become lanes, padded with zeros to a vector.
inline void copy_transposed(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                            float* out, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    const float* lanes = from + row * stride;
    std::int64_t column = 0;
    if (rows - row >= kLanes)
      for (; column + 4 <= columns; column += 4)
        transpose_quads(lanes + column, stride, out + column * width + row, width);
    for (; column < columns; column += 4)
      transpose_rest(lanes + column, stride, rows - row, columns - column, out + column * width + row, width);
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
