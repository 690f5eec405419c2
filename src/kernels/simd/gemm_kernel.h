// The register tile of a matrix product: kRows rows of A times kVectors vectors of columns of B, one fused
// multiply-add chain for each element of C.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/simd/masked.h"

namespace regard::kernels::REGARD_ISA {
namespace {

struct Tile {
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t columns = 0;  // of C, in (kVectors − 1, kVectors] vectors
  bool accumulate = false;
};

enum class Layout {
  along_k,    // A [rows, k]
  along_rows  // A [k, rows]: transposed, or a packed sliver
};

template <int kRows, int kVectors, Layout kLayout>
void multiply_tile(const Tile& tile) {
  const hn::ScalableTag<float> d;
  using Vector = hn::Vec<decltype(d)>;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  const std::int64_t rest = tile.columns - (kVectors - 1) * kLanes;  // columns in the last vector
  const auto each_vector = [&](auto&& body) HWY_ATTR {
    for (int row = 0; row < kRows; ++row) {
      float* c = tile.c + row * tile.ldc;
      for (int vector = 0; vector < kVectors; ++vector) body(row, vector, c + vector * kLanes);
    }
  };

  Vector sum[kRows][kVectors];
  if (tile.accumulate) {
    each_vector([&](int row, int vector, const float* c) HWY_ATTR {
      sum[row][vector] = vector < kVectors - 1 ? hn::LoadU(d, c) : load_first(d, c, rest);
    });
  } else {
    each_vector([&](int row, int vector, const float*) HWY_ATTR { sum[row][vector] = hn::Zero(d); });
  }

  const float* a = tile.a;
  const float* b = tile.b;
  const std::int64_t a_row = kLayout == Layout::along_k ? tile.a_stride : 1;
  const std::int64_t a_step = kLayout == Layout::along_k ? 1 : tile.a_stride;
  for (std::int64_t step = 0; step < tile.k; ++step, a += a_step, b += tile.b_stride) {
    Vector columns[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) columns[vector] = hn::LoadU(d, b + vector * kLanes);
    for (int row = 0; row < kRows; ++row) {
      const Vector factor = hn::Set(d, a[row * a_row]);
      for (int vector = 0; vector < kVectors; ++vector)
        sum[row][vector] = hn::MulAdd(factor, columns[vector], sum[row][vector]);
    }
  }

  each_vector([&](int row, int vector, float* c) HWY_ATTR {
    if (vector < kVectors - 1) {
      hn::StoreU(sum[row][vector], d, c);
    } else {
      store_first(sum[row][vector], d, c, rest);
    }
  });
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
