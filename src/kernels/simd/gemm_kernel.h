// The register tile of a matrix product: kRows rows of A times kVectors vectors of columns of B, one fused
// multiply-add chain for each element of C.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <utility>

#include "kernels/simd/activation.h"
#include "kernels/simd/masked.h"

namespace regard::kernels::REGARD_ISA {
namespace {

struct Tile {
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  const float* c = nullptr;  // C, added to the products; null means zero
  float* out = nullptr;      // the results; row stride ldc, as for c
  std::int64_t ldc = 0;
  std::int64_t columns = 0;      // columns of C; only the last of the kVectors vectors may be partial
  const float* bias = nullptr;   // bias [columns], added at the end; may be null
  bool relu = false;             // if true, apply max(0, ·) after the bias
  const float* ahead = nullptr;  // next panel, with the same stride, which is prefetched; may be null
};

enum class Layout {
  along_k,    // A [rows, k]
  along_rows  // A [k, rows]: transposed A, or a packed sliver
};

// Call body(i) for i in [0, kCount), where i is a compile-time constant. The compiler keeps an array in
// registers only if all its indices are constants. With a loop, it would write the array to the stack before
// and after the loop, and loads from the stack would wait for pending stores of C.
template <int kCount, class Body>
HWY_INLINE void unrolled(const Body& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) HWY_ATTR __attribute__((always_inline)) {
    (body(std::integral_constant<int, kIndex>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}
#define REGARD_UNROLLED_BODY HWY_ATTR __attribute__((always_inline))

// The sums of a tile in registers, with their loads and stores.
template <int kRows, int kVectors>
struct TileSums {
  using D = hn::ScalableTag<float>;
  using Vector = hn::Vec<D>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());
  Vector sum[kRows][kVectors];

  template <class Body>  // call body(sum, row, vector) for every sum
  HWY_INLINE void for_each(const Body& body) {
    unrolled<kRows>([&](auto row) REGARD_UNROLLED_BODY {
      unrolled<kVectors>([&](auto vector) REGARD_UNROLLED_BODY { body(sum[row][vector], row, vector); });
    });
  }

  HWY_INLINE void start(const Tile& tile) {
    const D d;
    if (tile.c == nullptr) {
      for_each([&](Vector& x, auto, auto) REGARD_UNROLLED_BODY { x = hn::Zero(d); });
      return;
    }
    const std::int64_t rest = tile.columns - (kVectors - 1) * kLanes;  // number of columns in the last vector
    for_each([&](Vector& x, auto row, auto vector) REGARD_UNROLLED_BODY {
      const float* c = tile.c + row * tile.ldc + vector * kLanes;
      x = vector < kVectors - 1 ? hn::LoadU(d, c) : load_first(d, c, rest);
    });
  }

  HWY_INLINE void add_extras(const Tile& tile) {
    const D d;
    if (tile.bias != nullptr) {
      const std::int64_t rest = tile.columns - (kVectors - 1) * kLanes;
      for_each([&](Vector& x, auto, auto vector) REGARD_UNROLLED_BODY {
        const float* bias = tile.bias + vector * kLanes;
        x = hn::Add(x, vector < kVectors - 1 ? hn::LoadU(d, bias) : load_first(d, bias, rest));
      });
    }
    if (tile.relu)
      for_each([&](Vector& x, auto, auto) REGARD_UNROLLED_BODY { x = activation<Activation::relu>(d, x); });
  }

  HWY_INLINE void store(const Tile& tile) {
    const D d;
    const std::int64_t rest = tile.columns - (kVectors - 1) * kLanes;
    for_each([&](Vector& x, auto row, auto vector) REGARD_UNROLLED_BODY {
      float* out = tile.out + row * tile.ldc + vector * kLanes;
      if constexpr (vector < kVectors - 1) {
        hn::StoreU(x, d, out);
      } else {
        store_first(x, d, out, rest);
      }
    });
  }
};

// Prefetch distance, in floats, within a row of transposed A: two cache lines. A tile reads kRows floats of
// each row, so these lines contain the elements of the next tiles.
constexpr std::int64_t kFloatsAhead = 32;

// Compute one register tile. If kExtras is false, tile.bias, tile.relu and tile.ahead must not be set.
template <int kRows, int kVectors, Layout kLayout, bool kExtras = false>
void multiply_tile(const Tile& tile) {
  const hn::ScalableTag<float> d;
  using Sums = TileSums<kRows, kVectors>;
  Sums sums;
  sums.start(tile);
  const float* a = tile.a;
  const float* b = tile.b;
  const std::int64_t a_row = kLayout == Layout::along_k ? tile.a_stride : 1;
  const std::int64_t a_step = kLayout == Layout::along_k ? 1 : tile.a_stride;
  const auto step = [&]() REGARD_UNROLLED_BODY {
    hn::Vec<hn::ScalableTag<float>> columns[kVectors];
    unrolled<kVectors>(
        [&](auto vector) REGARD_UNROLLED_BODY { columns[vector] = hn::LoadU(d, b + vector * Sums::kLanes); });
    unrolled<kRows>([&](auto row) REGARD_UNROLLED_BODY {
      const auto factor = hn::Set(d, a[row * a_row]);
      unrolled<kVectors>([&](auto vector) REGARD_UNROLLED_BODY {
        sums.sum[row][vector] = hn::MulAdd(factor, columns[vector], sums.sum[row][vector]);
      });
    });
    // Prefetch the next rows of A: each step reads another cache line, which hardware prefetchers do not
    // predict.
    if constexpr (kExtras && kLayout == Layout::along_rows) __builtin_prefetch(a + kFloatsAhead, 0, 3);
    a += a_step;
    b += tile.b_stride;
  };
  if (!kExtras || tile.ahead == nullptr) {
    for (std::int64_t i = 0; i < tile.k; ++i) step();
  } else {
    const float* ahead = tile.ahead;
    for (std::int64_t i = 0; i < tile.k; ++i, ahead += tile.b_stride) {
      for (std::int64_t lane = 0; lane < kVectors * Sums::kLanes; lane += 16)
        __builtin_prefetch(ahead + lane, 0, 2);
      step();
    }
  }
  if constexpr (kExtras) sums.add_extras(tile);
  sums.store(tile);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
