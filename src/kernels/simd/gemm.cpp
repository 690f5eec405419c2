// The inner loops of matrix products for one instruction set: tiles over a block, epilogue, packing.
#include <utility>

#include "kernels/gemm_table.h"
#include "kernels/simd/activation.h"
#include "kernels/simd/gemm_kernel.h"
#include "kernels/simd/gemm_pack.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Tiles keep all sums, one step of B and one broadcast in registers.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr int kTileRows = 8, kTileVectors = 3;  // 32 registers of 16 floats
#elif HWY_ARCH_X86
constexpr int kTileRows = 6, kTileVectors = 2;  // 16 registers of 8 floats
#else
constexpr int kTileRows = 6, kTileVectors = 4;  // 32 registers of 4 floats
#endif

using TileFunction = void (*)(const Tile&);

struct TileFunctions {
  TileFunction of[2][kTileRows][kTileVectors];  // [layout][rows − 1][vectors − 1]
};

template <int kRow, int... kVector>
constexpr void set_row(TileFunctions& table, std::integer_sequence<int, kVector...>) {
  ((table.of[0][kRow][kVector] = multiply_tile<kRow + 1, kVector + 1, Layout::along_k>), ...);
  ((table.of[1][kRow][kVector] = multiply_tile<kRow + 1, kVector + 1, Layout::along_rows>), ...);
}

template <int... kRow>
constexpr TileFunctions all_tiles(std::integer_sequence<int, kRow...>) {
  TileFunctions table{};
  (set_row<kRow>(table, std::make_integer_sequence<int, kTileVectors>()), ...);
  return table;
}

constexpr TileFunctions kTiles = all_tiles(std::make_integer_sequence<int, kTileRows>());

struct Finish {
  const Epilogue& epilogue;
  float* c;
  std::int64_t ldc, rows, columns;
};

template <Activation kActivation>
void finish_tile(const Finish& tile) {
  const Floats d;
  const Epilogue& epilogue = tile.epilogue;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t column = 0; column < tile.columns; column += kLanes) {
      const std::int64_t count = tile.columns - column;
      float* c = tile.c + row * tile.ldc + column;
      FloatVector x = load_first(d, c, count);
      if (epilogue.bias != nullptr) x = hn::Add(x, load_first(d, epilogue.bias + column, count));
      if (epilogue.pre != nullptr) store_first(x, d, epilogue.pre + row * tile.ldc + column, count);
      x = activation<kActivation>(d, x);
      if (epilogue.residual != nullptr)
        x = hn::Add(x, load_first(d, epilogue.residual + row * epilogue.residual_stride + column, count));
      store_first(x, d, c, count);
    }
  }
}

void finish(const Finish& tile) {
  with_activation(tile.epilogue.activation,
                  [&](auto constant) { finish_tile<decltype(constant)::value>(tile); });
}

Epilogue moved(const Epilogue& epilogue, std::int64_t row, std::int64_t column, std::int64_t ldc) {
  Epilogue result = epilogue;
  if (result.bias != nullptr) result.bias += column;
  if (result.pre != nullptr) result.pre += row * ldc + column;
  if (result.residual != nullptr) result.residual += row * result.residual_stride + column;
  return result;
}

void multiply(const GemmBlock& block) {
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
    tile.accumulate = block.accumulate;
    for (std::int64_t row = 0; row < block.rows; row += kTileRows) {
      const std::int64_t rows = block.rows - row < kTileRows ? block.rows - row : kTileRows;
      tile.a = block.a + row / kTileRows * block.a_sliver;
      tile.c = block.c + row * block.ldc + column;
      kTiles.of[block.a_transposed][rows - 1][vectors - 1](tile);
      if (block.epilogue != nullptr)
        finish({moved(*block.epilogue, block.epilogue_row + row, block.epilogue_column + column, block.ldc),
                tile.c, block.ldc, rows, columns});
    }
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

const GemmTable& gemm_table();
const GemmTable& gemm_table() {
  static constexpr GemmTable table{kLanes,   kTileRows, kTileVectors * kLanes,
                                   multiply, pack_b,    pack_slivers<kTileRows>};
  return table;
}

}  // namespace regard::kernels::REGARD_ISA
