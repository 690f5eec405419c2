#include "kernels/gemm_tiling.h"

#include <unistd.h>

#include <cmath>

namespace regard::kernels {
namespace {

// Maximum number of steps of k between a load and a store of the partial sums in C. Wider vectors need more
// steps, because they take less time per step.
constexpr std::int64_t kLongestK = 384, kLongestKOfWide = 512;
// Tiles with at most this many multiply-adds are not divided further. Smaller tiles balance the load better
// but cost more overhead.
constexpr double kSmallestTile = 400e3;
constexpr std::int64_t kTilesForThread = 16;

std::int64_t second_level_cache_bytes() {
  static const std::int64_t bytes = [] {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    if (const long found = sysconf(_SC_LEVEL2_CACHE_SIZE); found > 0) return static_cast<std::int64_t>(found);
#endif
    return std::int64_t{512 << 10};
  }();
  return bytes;
}

}  // namespace

std::int64_t choose_k_step(const GemmTable& table, std::int64_t k) {
  const std::int64_t longest = table.lanes >= 16 ? kLongestKOfWide : kLongestK;
  const std::int64_t blocks = std::max<std::int64_t>(1, ceil_divide(k, longest));
  return std::max<std::int64_t>(8, round_up(ceil_divide(k, blocks), 8));
}

GemmTiling choose_tiling(const GemmTable& table, const GemmSize& size) {
  const auto [m, n, k, threads, packs_a] = size;
  GemmTiling tiling;
  tiling.k_step = choose_k_step(table, k);
  // A tile of r rows and c columns occupies r c + (r + c) k floats, including its parts of A and B. Square
  // tiles read the least memory; if each tile packs its part of A, use wider tiles, so that A is packed fewer
  // times.
  const double step = static_cast<double>(tiling.k_step);
  const double budget = 0.75 * static_cast<double>(second_level_cache_bytes()) / sizeof(float);
  const auto other_side = [&](double side) { return std::max(0.0, (budget - side * step) / (side + step)); };
  const double square = std::sqrt(step * step + budget) - step;
  const double columns = std::min(packs_a ? other_side(0.5 * square) : square, static_cast<double>(n));
  const double rows = packs_a ? other_side(columns) : square;
  std::int64_t row_units = std::max<std::int64_t>(1, static_cast<std::int64_t>(rows) / table.tile_rows);
  std::int64_t column_units =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(columns) / table.tile_columns);
  row_units = std::min(row_units, ceil_divide(m, table.tile_rows));
  column_units = std::min(column_units, ceil_divide(n, table.tile_columns));
  const auto tiles = [&] {
    return ceil_divide(m, row_units * table.tile_rows) * ceil_divide(n, column_units * table.tile_columns);
  };
  const auto work = [&] {
    return static_cast<double>(row_units * table.tile_rows * column_units * table.tile_columns * k);
  };
  while (threads > 1 && tiles() < kTilesForThread * threads && work() > kSmallestTile &&
         row_units * column_units > 1) {
    std::int64_t& longer =
        row_units * table.tile_rows >= column_units * table.tile_columns || column_units == 1 ? row_units
                                                                                              : column_units;
    longer = (longer + 1) / 2;
    if (row_units == 1 && column_units == 1) break;
  }
  const auto even = [](std::int64_t whole, std::int64_t unit, std::int64_t units) {
    const std::int64_t parts = ceil_divide(whole, unit * units);
    return round_up(ceil_divide(whole, parts), unit);
  };
  tiling.row_step = even(m, table.tile_rows, row_units);
  tiling.column_step = even(n, table.tile_columns, column_units);
  return tiling;
}

}  // namespace regard::kernels
