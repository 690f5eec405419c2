// Products with packed f16 or bf16. The 16-bit elements are widened exactly while they are read, so results
// are bit-identical to products with the widened matrix.
//
// A panel stores the steps of k in pairs. In f16, the vector of the first step is followed by the vector of
// the second step, because the conversion reads consecutive 16-bit elements. In bf16, each 32-bit lane
// contains both steps, the first in the low half. A shift and a mask widen them without moving data between
// lanes.
#pragma once

#include <cstring>

#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/gemm_kernel.h"

namespace regard::kernels::REGARD_ISA {
namespace {

constexpr std::int64_t kHalvesInLine = 32;

// Prefetch distance in 16-bit elements (8 KiB): twice the memory latency times the bandwidth of one core.
constexpr std::int64_t kHalvesAhead = 4096;

// One row times a panel of two vectors has only two dependency chains, so latency would limit the speed.
// Therefore up to kRowsTogether rows, whose sums fit into the registers, are multiplied by two panels at
// once.
constexpr int kPanelsTogether = kTileVectors <= 2 ? 2 : 1;
constexpr int kRowsTogether = 2;

// Load the vector of the first step of k (of the second if kSecond) from the pair of steps at `pair`, and
// widen it to f32.
template <bool kBrain, bool kSecond>
HWY_INLINE FloatVector widened(const std::uint16_t* pair) {
  const Floats d;
  if constexpr (kBrain) {
    const hn::RebindToUnsigned<Floats> words;
    const auto both = hn::LoadU(words, reinterpret_cast<const std::uint32_t*>(pair));
    // With 16 vector registers, none is free for a mask, so use two shifts.
    if constexpr (kSecond && kTileVectors <= 2)
      return hn::BitCast(d, hn::ShiftLeft<16>(hn::ShiftRight<16>(both)));
    if constexpr (kSecond) return hn::BitCast(d, hn::And(both, hn::Set(words, 0xffff0000u)));
    return hn::BitCast(d, hn::ShiftLeft<16>(both));
  } else {
    const hn::Rebind<hwy::float16_t, Floats> half;
    return hn::PromoteTo(
        d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(pair) + (kSecond ? kLanes : 0)));
  }
}

struct HalfPanels {
  const std::uint16_t* halves;
  std::int64_t panel;  // distance from one panel to the next, in 16-bit elements
  float* wide;         // memory for the widened numbers [k, vectors · lanes]; used if kKeep is set
};

// Compute multiply_tile() with Layout::along_k for kPanels adjacent panels. tile.b is not used.
template <int kRows, int kVectors, int kPanels, bool kBrain, bool kKeep>
void multiply_half_tile(const Tile& tile, const HalfPanels& panels) {
  static_assert(!kKeep || kPanels == 1);
  constexpr std::int64_t kPair = 2 * kVectors * kLanes;
  const Floats d;
  TileSums<kRows, kVectors * kPanels> sums;
  sums.start(tile);
  const float* a = tile.a;
  const std::uint16_t* b = panels.halves;
  float* wide = panels.wide;
  const auto step = [&](auto second) REGARD_UNROLLED_BODY {
    FloatVector columns[kVectors * kPanels];
    unrolled<kVectors * kPanels>([&](auto vector) REGARD_UNROLLED_BODY {
      columns[vector] =
          widened<kBrain, second>(b + vector / kVectors * panels.panel + 2 * (vector % kVectors) * kLanes);
      if constexpr (kKeep) hn::StoreU(columns[vector], d, wide + vector * kLanes);
    });
    unrolled<kRows>([&](auto row) REGARD_UNROLLED_BODY {
      const auto factor = hn::Set(d, a[row * tile.a_stride]);
      unrolled<kVectors * kPanels>([&](auto vector) REGARD_UNROLLED_BODY {
        sums.sum[row][vector] = hn::MulAdd(factor, columns[vector], sums.sum[row][vector]);
      });
    });
    ++a;
    if constexpr (kKeep) wide += kVectors * kLanes;
  };
  const auto pairs = [&](std::int64_t count, std::int64_t ahead) REGARD_UNROLLED_BODY {
    for (; count > 0; --count) {
      unrolled<kPanels>([&](auto panel) REGARD_UNROLLED_BODY {
        for (std::int64_t lane = 0; lane < kPair; lane += kHalvesInLine)
          __builtin_prefetch(b + panel * panels.panel + ahead + lane, 0, 2);
      });
      step(std::false_type());
      step(std::true_type());
      b += kPair;
    }
  };
  if constexpr (kPanels == 1) {
    pairs(tile.k / 2, kHalvesAhead);
  } else {  // near the end of a panel, prefetch the start of the panel that is kPanels panels later
    const std::int64_t last = tile.k / 2 < kHalvesAhead / kPair ? tile.k / 2 : kHalvesAhead / kPair;
    pairs(tile.k / 2 - last, kHalvesAhead);
    pairs(last, kHalvesAhead + (kPanels - 1) * panels.panel);
  }
  if (tile.k % 2 != 0) step(std::false_type());
  sums.add_extras(tile);
  sums.store(tile);
}

// Compute y = factor · x for `count` elements; x is bf16 if `brain` is true, otherwise f16.
void widen(const std::uint16_t* x, bool brain, std::int64_t count, float factor, float* y) {
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> f16;
  const hn::Rebind<hwy::bfloat16_t, Floats> bf16;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    std::uint16_t part[kLanes] = {};
    const std::int64_t left = count - i < kLanes ? count - i : kLanes;
    std::memcpy(part, x + i, static_cast<std::size_t>(left) * sizeof *x);
    const FloatVector wide =
        brain ? hn::PromoteTo(d, hn::LoadU(bf16, reinterpret_cast<const hwy::bfloat16_t*>(part)))
              : hn::PromoteTo(d, hn::LoadU(f16, reinterpret_cast<const hwy::float16_t*>(part)));
    store_first(hn::Mul(wide, hn::Set(d, factor)), d, y + i, left);
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
