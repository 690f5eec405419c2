// Products with packed f16 or bf16: numbers are widened as they are read, which is exact, so the chains are
// those of the widened matrix. A panel's steps of k lie in pairs: one step's vector, then the next one's.
#pragma once

#include <cstring>

#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/gemm_kernel.h"

namespace regard::kernels::REGARD_ISA {
namespace {

constexpr std::int64_t kHalvesInLine = 32;

template <bool kBrain>
HWY_INLINE FloatVector widened(const std::uint16_t* from) {
  const Floats d;
  if constexpr (kBrain) {
    const hn::Rebind<hwy::bfloat16_t, Floats> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::bfloat16_t*>(from)));
  } else {
    const hn::Rebind<hwy::float16_t, Floats> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
  }
}

// As multiply_tile() with A along k; tile.b is not looked at. `ahead` is fetched, as many bytes as are read.
template <int kRows, int kVectors, bool kBrain>
void multiply_half_tile(const Tile& tile, const std::uint16_t* b, const std::uint16_t* ahead) {
  const Floats d;
  TileSums<kRows, kVectors> sums;
  sums.start(tile);
  const float* a = tile.a;
  const auto step = [&](std::int64_t second) REGARD_UNROLLED_BODY {
    FloatVector columns[kVectors];
    unrolled<kVectors>([&](auto vector) REGARD_UNROLLED_BODY {
      columns[vector] = widened<kBrain>(b + (2 * vector + second) * kLanes);
    });
    unrolled<kRows>([&](auto row) REGARD_UNROLLED_BODY {
      const auto factor = hn::Set(d, a[row * tile.a_stride]);
      unrolled<kVectors>([&](auto vector) REGARD_UNROLLED_BODY {
        sums.sum[row][vector] = hn::MulAdd(factor, columns[vector], sums.sum[row][vector]);
      });
    });
    ++a;
  };
  for (std::int64_t i = 0; i + 2 <= tile.k; i += 2) {
    for (std::int64_t lane = 0; lane < 2 * kVectors * kLanes; lane += kHalvesInLine)
      __builtin_prefetch(ahead + lane, 0, 2);
    step(0);
    step(1);
    b += 2 * kVectors * kLanes;
    ahead += 2 * kVectors * kLanes;
  }
  if (tile.k % 2 != 0) step(0);
  sums.add_extras(tile);
  sums.store(tile);
}

// y = factor · x
void widen(const std::uint16_t* x, bool brain, std::int64_t count, float factor, float* y) {
  const Floats d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    std::uint16_t part[kLanes] = {};
    const std::int64_t left = count - i < kLanes ? count - i : kLanes;
    std::memcpy(part, x + i, static_cast<std::size_t>(left) * sizeof *x);
    const FloatVector wide = brain ? widened<true>(part) : widened<false>(part);
    store_first(hn::Mul(wide, hn::Set(d, factor)), d, y + i, left);
  }
}

// Steps [0, k) of a panel of `vectors` as floats [k, vectors · lanes].
template <bool kBrain>
void widen_steps(const std::uint16_t* panel, std::int64_t vectors, std::int64_t k, float* out) {
  const Floats d;
  for (std::int64_t step = 0; step < k; ++step)
    for (std::int64_t vector = 0; vector < vectors; ++vector, out += kLanes)
      hn::StoreU(widened<kBrain>(panel + ((step / 2 * vectors + vector) * 2 + step % 2) * kLanes), d, out);
}

void widen_panel(const std::uint16_t* panel, bool brain, std::int64_t vectors, std::int64_t k, float* out) {
  brain ? widen_steps<true>(panel, vectors, k, out) : widen_steps<false>(panel, vectors, k, out);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
