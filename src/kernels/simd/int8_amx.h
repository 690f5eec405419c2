// int8 products with AMX. Compiled together with the AVX-512 kernels; used if the processor has AMX.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/int8_table.h"
#include "kernels/tile_shapes.h"

#if defined(__x86_64__) && defined(__AVX512F__)
#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("amx-tile,amx-int8")
namespace regard::kernels::REGARD_ISA::amx {
namespace {

// The intrinsics require literal tile numbers.
#define REGARD_ON_TILE(number, instruction) \
  if constexpr (tile == number) instruction

struct Tiles {
  static void configure(const TileShapes& shapes) { _tile_loadconfig(&shapes); }
  static void release() { _tile_release(); }
  template <int tile>
  static void zero() {
    REGARD_ON_TILE(0, _tile_zero(0));
    REGARD_ON_TILE(1, _tile_zero(1));
    REGARD_ON_TILE(2, _tile_zero(2));
  }
  template <int tile>
  static void load(const std::int8_t* from, std::int64_t stride) {
    REGARD_ON_TILE(3, _tile_loadd(3, from, stride));
    REGARD_ON_TILE(4, _tile_loadd(4, from, stride));
    REGARD_ON_TILE(5, _tile_loadd(5, from, stride));
    REGARD_ON_TILE(6, _tile_loadd(6, from, stride));
  }
  template <int sum, int a, int b>
  static void dot() {
    constexpr int tile = a == 3 ? sum : 3 + sum;
    static_assert(b == a + 1);
    REGARD_ON_TILE(0, _tile_dpbssd(0, 3, 4));
    REGARD_ON_TILE(1, _tile_dpbssd(1, 3, 4));
    REGARD_ON_TILE(2, _tile_dpbssd(2, 3, 4));
    REGARD_ON_TILE(3, _tile_dpbssd(0, 5, 6));
    REGARD_ON_TILE(4, _tile_dpbssd(1, 5, 6));
    REGARD_ON_TILE(5, _tile_dpbssd(2, 5, 6));
  }
  template <int tile>
  static void store(std::int32_t* to, std::int64_t stride) {
    REGARD_ON_TILE(0, _tile_stored(0, to, stride));
    REGARD_ON_TILE(1, _tile_stored(1, to, stride));
    REGARD_ON_TILE(2, _tile_stored(2, to, stride));
  }
};
#undef REGARD_ON_TILE

#include "kernels/simd/int8_amx_tile.h"

void multiply(const Int8Block& block) {
  multiply_in_tiles<Tiles>(block);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA::amx
HWY_POP_ATTRIBUTES
#endif
