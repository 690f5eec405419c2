// Size of a register tile, and the last steps of the epilogue (activation and residual), for products of all
// number types.
#pragma once

#include <cstdint>

#include "kernels/simd/activation.h"
#include "kernels/simd/masked.h"

namespace regard::kernels::REGARD_ISA {
namespace {

inline constexpr std::int64_t kLanes = hn::MaxLanes(Floats());

// Size of a register tile. Its sums, one row of B and one broadcast element of A fit into the registers.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr int kTileRows = 8, kTileVectors = 3;  // 32 registers of 16 floats
#elif HWY_ARCH_X86
constexpr int kTileRows = 6, kTileVectors = 2;  // 16 registers of 8 floats
#else
constexpr int kTileRows = 6, kTileVectors = 4;  // 32 registers of 4 floats
#endif

// The epilogue after the bias, on a tile that is still in the L1 cache: C = activation(x) + residual. x is
// Epilogue::pre if it is set, otherwise C itself.
struct Finish {
  const float* x;
  float* c;
  std::int64_t ldc;
  const float* residual;
  std::int64_t residual_stride;
  std::int64_t rows, columns;
};

template <Activation kActivation>
void finish_tile(const Finish& tile) {
  const Floats d;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t column = 0; column < tile.columns; column += kLanes) {
      const std::int64_t count = tile.columns - column, place = row * tile.ldc + column;
      FloatVector y = activation<kActivation>(d, load_first(d, tile.x + place, count));
      if (tile.residual != nullptr)
        y = hn::Add(y, load_first(d, tile.residual + row * tile.residual_stride + column, count));
      store_first(y, d, tile.c + place, count);
    }
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
