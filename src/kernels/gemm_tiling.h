// Tile sizes and k-block sizes of a product. They never change the bits of a result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/gemm_table.h"

namespace regard::kernels {

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_divide(a, b) * b;
}

// Return part number `index` of [0, whole), divided into parts of size `step`.
inline Range part(std::int64_t whole, std::int64_t step, std::int64_t index) {
  return {index * step, std::min(whole, (index + 1) * step)};
}

// Return the cost of a product A [m, k] · B [k, n] in multiply-adds. Loading B from memory costs at least as
// much as multiplying it by kRowsWorthLoad rows.
constexpr double estimated_work(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kRowsWorthLoad = 4;
  return static_cast<double>(std::max(m, kRowsWorthLoad)) * static_cast<double>(n) * static_cast<double>(k);
}

struct GemmSize {
  std::int64_t m = 0, n = 0, k = 0;
  int threads = 1;
  bool packs_a = false;  // true if A is packed separately for each tile
};

struct GemmTiling {
  std::int64_t row_step = 0;     // rows per tile; a multiple of the register tile's rows
  std::int64_t column_step = 0;  // columns per tile; a multiple of a panel's columns
  std::int64_t k_step = 0;       // values of k per block
};

// Return the number of values of k per block. Blocks are nearly equal, and one block of a panel fits in
// the L2 cache.
std::int64_t choose_k_step(const GemmTable& table, std::int64_t k);

// Choose the sizes of tiles. The parts of A, B and C of a tile fit into the L2 cache, and each thread gets
// several tiles.
GemmTiling choose_tiling(const GemmTable& table, const GemmSize& size);

}  // namespace regard::kernels
