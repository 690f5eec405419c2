// The inner loops of matrix products for one instruction set: tiles over a block, epilogue, packing.
#include <utility>

#include "kernels/gemm_table.h"
#include "kernels/gemm_tiling.h"
#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/gemm_half.h"
#include "kernels/simd/gemm_kernel.h"
#include "kernels/simd/gemm_pack.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using TileFunction = void (*)(const Tile&);

struct TileFunctions {
  TileFunction of[2][kTileRows][kTileVectors];  // [layout][rows − 1][vectors − 1]
};

template <int kRow, int... kVector>
constexpr void set_row(TileFunctions& table, std::integer_sequence<int, kVector...>) {
  ((table.of[0][kRow][kVector] = multiply_tile<kRow + 1, kVector + 1, Layout::along_k, true>), ...);
  ((table.of[1][kRow][kVector] = multiply_tile<kRow + 1, kVector + 1, Layout::along_rows, true>), ...);
}

template <int... kRow>
constexpr TileFunctions all_tiles(std::integer_sequence<int, kRow...>) {
  TileFunctions table{};
  (set_row<kRow>(table, std::make_integer_sequence<int, kTileVectors>()), ...);
  return table;
}

constexpr TileFunctions kTiles = all_tiles(std::make_integer_sequence<int, kTileRows>());

// Compute one register tile and apply the epilogue to it.
template <class Function>
void multiply_and_finish(const GemmBlock& block, Tile& tile, const Function& function, Range rows,
                         Range columns) {
  float* c = block.c + rows.begin * block.ldc + columns.begin;
  // Assign the fields one by one: copying the tile would load several recently stored fields at once. Such a
  // load waits until all earlier stores of C have completed.
  tile.c = block.accumulate ? c : nullptr;
  tile.out = c;
  if (block.epilogue == nullptr) return function(tile);
  const Epilogue& epilogue = *block.epilogue;
  const std::int64_t row = block.epilogue_row + rows.begin, column = block.epilogue_column + columns.begin;
  if (epilogue.bias != nullptr) tile.bias = epilogue.bias + column;
  if (epilogue.pre != nullptr) tile.out = epilogue.pre + row * block.ldc + column;
  tile.relu = epilogue.activation == Activation::relu && epilogue.pre == nullptr;
  function(tile);
  const bool activated = tile.relu || epilogue.activation == Activation::none;
  if (activated && epilogue.residual == nullptr && tile.out == c) return;
  Finish finish{tile.out, c, block.ldc, nullptr, epilogue.residual_stride, rows.size(), columns.size()};
  if (epilogue.residual != nullptr)
    finish.residual = epilogue.residual + row * epilogue.residual_stride + column;
  with_activation(activated ? Activation::none : epilogue.activation,
                  [&](auto constant) { finish_tile<decltype(constant)::value>(finish); });
}

void multiply(const GemmBlock& block) {
  const auto* ahead = static_cast<const float*>(block.ahead);
  constexpr std::int64_t kTileColumns = kTileVectors * kLanes;
  for (std::int64_t column = 0; column < block.columns; column += kTileColumns) {
    const std::int64_t columns =
        block.columns - column < kTileColumns ? block.columns - column : kTileColumns;
    const std::int64_t vectors = (columns + kLanes - 1) / kLanes;
    Tile tile;
    tile.k = block.k;
    tile.a_stride = block.a_stride;
    tile.b_stride = block.b_packed ? vectors * kLanes : block.b_stride;
    tile.b = block.b + column / kTileColumns * block.b_panel + block.b_start * tile.b_stride;
    tile.ldc = block.ldc;
    tile.columns = columns;
    const bool another_panel = block.columns - column >= 2 * kTileColumns;
    for (std::int64_t row = 0; row < block.rows; row += kTileRows) {
      const std::int64_t rows = block.rows - row < kTileRows ? block.rows - row : kTileRows;
      tile.a = block.a + row / kTileRows * block.a_sliver;
      // During the last rows, prefetch the next panel, or block.ahead in the last panel. If there is only one
      // sliver of rows, always prefetch block.ahead, because the current panel is not in the cache yet.
      if (row + kTileRows >= block.rows)
        tile.ahead = row > 0 && another_panel ? tile.b + block.b_panel : ahead;
      multiply_and_finish(block, tile, kTiles.of[block.a_transposed][rows - 1][vectors - 1],
                          {row, row + rows}, {column, column + columns});
    }
  }
}

using HalfTileFunction = void (*)(const Tile&, const HalfPanels&);

struct HalfTileFunctions {
  HalfTileFunction of[2][kTileRows][kTileVectors];  // [is bf16][rows − 1][vectors − 1]
  // [is bf16][vectors − 1]: functions that also store the widened elements of B
  HalfTileFunction keeping[2][kTileVectors];
  // [is bf16][rows − 1]: functions that multiply kPanelsTogether panels at once
  HalfTileFunction together[2][kRowsTogether];
};

template <bool kBrain, int kRow, int... kVector>
constexpr void set_half_row(HalfTileFunctions& table, std::integer_sequence<int, kVector...>) {
  ((table.of[kBrain][kRow][kVector] = multiply_half_tile<kRow + 1, kVector + 1, 1, kBrain, false>), ...);
  ((table.keeping[kBrain][kVector] = multiply_half_tile<kTileRows, kVector + 1, 1, kBrain, true>), ...);
  if constexpr (kRow < kRowsTogether)
    table.together[kBrain][kRow] = multiply_half_tile<kRow + 1, kTileVectors, kPanelsTogether, kBrain, false>;
}

template <int... kRow>
constexpr HalfTileFunctions all_half_tiles(std::integer_sequence<int, kRow...>) {
  HalfTileFunctions table{};
  (set_half_row<false, kRow>(table, std::make_integer_sequence<int, kTileVectors>()), ...);
  (set_half_row<true, kRow>(table, std::make_integer_sequence<int, kTileVectors>()), ...);
  return table;
}

constexpr HalfTileFunctions kHalfTiles = all_half_tiles(std::make_integer_sequence<int, kTileRows>());

// Multiply `columns`, which are in one panel or, if `together`, in kPanelsTogether whole panels. If
// block.widened is set, the first tile of rows also stores the widened elements of B, and later tiles read
// them.
void multiply_half_columns(const GemmBlock& block, Range columns, bool together) {
  Tile tile;
  tile.k = block.k;
  tile.a_stride = block.a_stride;
  tile.ldc = block.ldc;
  tile.columns = columns.size();
  const std::int64_t vectors = (columns.size() + kLanes - 1) / kLanes;
  const HalfPanels panels{block.halves + columns.begin / (kTileVectors * kLanes) * block.b_panel,
                          block.b_panel, block.widened};
  for (std::int64_t row = 0; row < block.rows; row += kTileRows) {
    const std::int64_t rows = block.rows - row < kTileRows ? block.rows - row : kTileRows;
    const Range own{row, row + rows};
    tile.a = block.a + row * block.a_stride;
    if (row > 0 && block.widened != nullptr) {
      tile.b = block.widened;
      tile.b_stride = vectors * kLanes;
      if (row + kTileRows >= block.rows) tile.ahead = static_cast<const float*>(block.ahead);
      multiply_and_finish(block, tile, kTiles.of[0][rows - 1][vectors - 1], own, columns);
      continue;
    }
    // Store the widened elements if later tiles read them. The multiply-adds hide the cost of the stores.
    const bool keeps = block.widened != nullptr && rows < block.rows;
    const HalfTileFunction function = together ? kHalfTiles.together[block.brain][rows - 1]
                                      : keeps  ? kHalfTiles.keeping[block.brain][vectors - 1]
                                               : kHalfTiles.of[block.brain][rows - 1][vectors - 1];
    multiply_and_finish(
        block, tile, [&](const Tile& ready) { function(ready, panels); }, own, columns);
  }
}

void multiply_halves(const GemmBlock& block) {
  constexpr std::int64_t kWidth = kTileVectors * kLanes;
  for (std::int64_t begin = 0, end = 0; begin < block.columns; begin = end) {
    const std::int64_t left = block.columns - begin;
    const bool together = block.rows <= kRowsTogether && left > kPanelsTogether * kWidth - kLanes;
    const std::int64_t width = together ? kPanelsTogether * kWidth : kWidth;
    end = begin + (left < width ? left : width);
    multiply_half_columns(block, {begin, end}, together);
  }
}

void pack_b(const float* b, std::int64_t ldb, bool transposed, std::int64_t k, std::int64_t columns,
            const PackedPanels& out) {
  const PanelSource source{b, ldb, k, columns, out};
  if (transposed) {
    pack_columns<kTileVectors * kLanes>(source);
  } else {
    pack_rows<kTileVectors * kLanes>(source);
  }
}

}  // namespace

extern const GemmTable gemm_table;
constinit const GemmTable gemm_table{kLanes,          kTileRows, kTileVectors* kLanes,
                                     kPanelsTogether, multiply,  multiply_halves,
                                     widen,           pack_b,    pack_slivers<kTileRows>};

}  // namespace regard::kernels::REGARD_ISA
