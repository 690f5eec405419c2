// bf16 products with VDPBF16PS and with AMX tiles. Compiled together with the AVX-512 kernels; used if the
// processor has the instructions.
#pragma once

#include "kernels/bf16_table.h"
#include "kernels/simd/bf16_finish.h"
#include "kernels/tile_shapes.h"

#if defined(REGARD_BF16_INTRINSICS)
HWY_PUSH_ATTRIBUTES("avx512bf16,amx-tile,amx-bf16")
namespace regard::kernels::REGARD_ISA::bf16 {
namespace {

// A matrix of 16 × 16 32-bit words, each of which contains two consecutive steps of k. Row i contains 32
// steps of the i-th of 16 lines (rows of A or columns of B), or the i-th pair of steps of all 16 lines.
struct Square {
  __m512i row[16];
};

__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFFu : count <= 0 ? 0u : (1u << count) - 1u);
}

__mmask32 first_halves(std::int64_t count) {
  return count >= 32 ? 0xFFFFFFFFu : count <= 0 ? 0u : (1u << count) - 1u;
}

// Load as load_lines() does, but from a source that is stored as bf16.
void load_stored_lines(const Bf16Source& source, std::int64_t line, std::int64_t step, Square& out) {
  const __mmask32 halves = first_halves(source.steps - step);
  const std::uint16_t* from = source.stored + line * source.line_stride + step;
  for (std::int64_t i = 0; i < 16; ++i, from += source.line_stride)
    out.row[i] = line + i < source.lines ? _mm512_maskz_loadu_epi16(halves, from) : _mm512_setzero_si512();
}

// Load steps `step` to `step + 31` of 16 lines, starting at `line`: row i of `out` contains line `line + i`.
// Steps must be consecutive in memory.
void load_lines(const Bf16Source& source, std::int64_t line, std::int64_t step, Square& out) {
  if (source.stored != nullptr) return load_stored_lines(source, line, step, out);
  const std::int64_t steps = source.steps - step;
  const __mmask16 low = first_lanes(steps), high = first_lanes(steps - 16);
  const float* from = source.data + line * source.line_stride + step;
  for (std::int64_t i = 0; i < 16; ++i, from += source.line_stride) {
    if (line + i >= source.lines) {
      out.row[i] = _mm512_setzero_si512();
      continue;
    }
    const __m512 a = _mm512_maskz_loadu_ps(low, from);
    const __m512 b = high == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(high, from + 16);
    const __m512bh both = _mm512_cvtne2ps_pbh(b, a);
    std::memcpy(&out.row[i], &both, sizeof both);
  }
}

alignas(64) constexpr std::uint16_t kInterleave[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

// Load as load_pairs() does, but from a source that is stored as bf16.
void load_stored_pairs(const Bf16Source& source, std::int64_t line, std::int64_t step, Square& out) {
  const __mmask16 lanes = first_lanes(source.lines - line);
  const __m512i order = _mm512_load_si512(kInterleave);
  const std::uint16_t* from = source.stored + step * source.step_stride + line;
  for (std::int64_t p = 0; p < 16; ++p, from += 2 * source.step_stride) {
    const std::int64_t left = source.steps - step - 2 * p;
    const __m256i a = left > 0 ? _mm256_maskz_loadu_epi16(lanes, from) : _mm256_setzero_si256();
    const __m256i b =
        left > 1 ? _mm256_maskz_loadu_epi16(lanes, from + source.step_stride) : _mm256_setzero_si256();
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    out.row[p] = _mm512_permutexvar_epi16(order, both);
  }
}

// Load steps `step` to `step + 31` of 16 lines, starting at `line`: row p of `out` contains the pair of steps
// `step + 2p` and `step + 2p + 1`. Lines must be consecutive in memory.
void load_pairs(const Bf16Source& source, std::int64_t line, std::int64_t step, Square& out) {
  if (source.stored != nullptr) return load_stored_pairs(source, line, step, out);
  const __mmask16 lanes = first_lanes(source.lines - line);
  const __m512i order = _mm512_load_si512(kInterleave);
  const float* from = source.data + step * source.step_stride + line;
  for (std::int64_t p = 0; p < 16; ++p, from += 2 * source.step_stride) {
    const std::int64_t left = source.steps - step - 2 * p;
    const __m512 a = left > 0 ? _mm512_maskz_loadu_ps(lanes, from) : _mm512_setzero_ps();
    const __m512 b = left > 1 ? _mm512_maskz_loadu_ps(lanes, from + source.step_stride) : _mm512_setzero_ps();
    const __m512bh both = _mm512_cvtne2ps_pbh(b, a);
    __m512i bits;
    std::memcpy(&bits, &both, sizeof bits);
    out.row[p] = _mm512_permutexvar_epi16(order, bits);
  }
}

// Transpose a 16 × 16 matrix of 32-bit words.
void transpose(Square& x) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(x.row[i], x.row[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(x.row[i], x.row[i + 1]);
  }
  __m512i u[16];
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // At this point, 128-bit block b of u[4 g + c] contains column 4 b + c of rows 4 g to 4 g + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512i low01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(u[c], u[4 + c], 0xEE);
    const __m512i low23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0xEE);
    x.row[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    x.row[4 + c] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    x.row[8 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    x.row[12 + c] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
}

void pack_a(const Bf16Source& source, std::uint16_t* tiles) {
  Square square;
  for (std::int64_t row = 0; row < source.lines; row += kBf16Rows)
    for (std::int64_t step = 0; step < source.steps; step += kBf16Steps, tiles += kBf16Rows * kBf16Steps) {
      if (source.step_stride == 1) {
        load_lines(source, row, step, square);
      } else {
        load_pairs(source, row, step, square);
        transpose(square);
      }
      for (int i = 0; i < 16; ++i) _mm512_store_si512(tiles + i * kBf16Steps, square.row[i]);
    }
}

void pack_b(const Bf16Source& source, std::uint16_t* panel) {
  const std::int64_t width = (source.lines + kBf16Columns - 1) / kBf16Columns * kBf16Columns;
  Square square;
  for (std::int64_t step = 0; step < source.steps; step += kBf16Steps, panel += kBf16Steps * width)
    for (std::int64_t column = 0; column < width; column += kBf16Columns) {
      if (source.step_stride == 1) {
        load_lines(source, column, step, square);
        transpose(square);
      } else {
        load_pairs(source, column, step, square);
      }
      for (int i = 0; i < 16; ++i) _mm512_store_si512(panel + (i * width + column) * 2, square.row[i]);
    }
}

// Return true if the sums can be written directly to C, i.e. if C is f32 and the block has neither an
// epilogue nor padding columns.
bool is_direct(const Bf16Block& block) {
  if (block.stored != nullptr || block.columns != block.width()) return false;
  const Epilogue* epilogue = block.epilogue;
  return epilogue == nullptr || (epilogue->bias == nullptr && epilogue->pre == nullptr &&
                                 epilogue->activation == Activation::none && epilogue->residual == nullptr);
}

// Add the products of the pairs of bf16 values of a and b to `sum` (VDPBF16PS). The inline assembly avoids a
// defect of clang 16, which recurses endlessly when it compiles the intrinsic with a broadcast operand.
HWY_INLINE void add_products(__m512& sum, __m512i a, __m512i b) {
#if defined(__clang__) && __clang_major__ < 17
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
  __m512bh x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  sum = _mm512_dpbf16_ps(sum, x, y);
#endif
}

// Multiply kRows rows of A by kVectors vectors of columns of B. Store the sums in `to`, or add them to it if
// `adds` is true.
template <int kRows, int kVectors>
void vector_tile(const Bf16Block& block, const std::uint16_t* a, float* to, std::int64_t stride, bool adds) {
  constexpr std::int64_t kWidth = kVectors * kBf16Columns;
  const std::int64_t line = block.a.line;
  __m512 sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < block.blocks; ++i, a += block.a.step) {
    const std::uint16_t* b = steps_of_b(block, i);
    for (std::int64_t pair = 0; pair < kBf16Steps / 2; ++pair, b += 2 * kWidth) {
      __m512i columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_si512(b + v * 2 * kBf16Columns);
      for (int r = 0; r < kRows; ++r) {
        std::int32_t steps;
        std::memcpy(&steps, a + r * line + 2 * pair, sizeof steps);
        const __m512i factor = _mm512_set1_epi32(steps);
        for (int v = 0; v < kVectors; ++v) add_products(sum[r][v], factor, columns[v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      float* place = to + r * stride + v * 16;
      _mm512_storeu_ps(place, adds ? _mm512_add_ps(sum[r][v], _mm512_loadu_ps(place)) : sum[r][v]);
    }
}

template <int kVectors>
void vector_rows(const Bf16Block& block) {
  // With this number of rows, there are enough sums to hide the latency of a multiplication.
  constexpr int kRows = kVectors == 1 ? 16 : 8;
  alignas(64) float sums[kRows * kVectors * kBf16Columns];
  const bool direct = is_direct(block);
  for (std::int64_t row = 0; row < block.rows; row += kRows) {
    const std::int64_t rows = block.rows - row < kRows ? block.rows - row : kRows;
    const std::uint16_t* a = block.a.data + row / kBf16Rows * block.a.group + row % kBf16Rows * block.a.line;
    if (direct && rows == kRows) {
      vector_tile<kRows, kVectors>(block, a, block.c + row * block.ldc, block.ldc, block.accumulate);
      continue;
    }
    constexpr std::int64_t kStride = kVectors * kBf16Columns;
    if (rows > 4)
      vector_tile<kRows, kVectors>(block, a, sums, kStride, false);
    else if (rows > 1)
      vector_tile<4, kVectors>(block, a, sums, kStride, false);
    else
      vector_tile<1, kVectors>(block, a, sums, kStride, false);
    finish_rows<true>(block, row, rows, sums);
  }
}

// Call rows[v - 1] for each panel of the block, where v is the panel's width in vectors.
void for_each_panel_by_width(const Bf16Block& block, void (*const (&rows)[3])(const Bf16Block&)) {
  for_each_panel(block, [&rows](const Bf16Block& one) { rows[one.width() / kBf16Columns - 1](one); });
}

void multiply_vectors(const Bf16Block& block) {
  for_each_panel_by_width(block, {vector_rows<1>, vector_rows<2>, vector_rows<3>});
}

// Tile registers 0 to 5 hold sums, register 6 a tile of A, and register 7 a tile of B. The intrinsics require
// literal numbers.
template <int kTiles, int kVectors>
void tile_rows(const Bf16Block& block, const std::uint16_t* a, float* sums, std::int64_t stride) {
  constexpr std::int64_t kRowBytes = kVectors * 64;
  const std::int64_t line = block.a.line * 2, step = block.a.step;
  const std::uint16_t* below = a + block.a.group;
  _tile_zero(0);
  if constexpr (kVectors > 1) _tile_zero(1);
  if constexpr (kVectors > 2) _tile_zero(2);
  if constexpr (kTiles > 1) _tile_zero(3);
  if constexpr (kTiles > 1 && kVectors > 1) _tile_zero(4);
  if constexpr (kTiles > 1 && kVectors > 2) _tile_zero(5);
  for (std::int64_t i = 0; i < block.blocks; ++i) {
    const std::uint16_t* b = steps_of_b(block, i);
    _tile_loadd(6, a, line);
    _tile_loadd(7, b, kRowBytes);
    _tile_dpbf16ps(0, 6, 7);
    if constexpr (kVectors > 1) {
      _tile_loadd(7, b + 32, kRowBytes);
      _tile_dpbf16ps(1, 6, 7);
    }
    if constexpr (kVectors > 2) {
      _tile_loadd(7, b + 64, kRowBytes);
      _tile_dpbf16ps(2, 6, 7);
    }
    if constexpr (kTiles > 1) {  // the order is reversed, because register 7 still holds the last tile of B
      _tile_loadd(6, below, line);
      if constexpr (kVectors > 2) {
        _tile_dpbf16ps(5, 6, 7);
        _tile_loadd(7, b + 32, kRowBytes);
      }
      if constexpr (kVectors > 1) {
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(7, b, kRowBytes);
      }
      _tile_dpbf16ps(3, 6, 7);
    }
    a += step, below += step;
  }
  const std::int64_t bytes = stride * 4;
  _tile_stored(0, sums, bytes);
  if constexpr (kVectors > 1) _tile_stored(1, sums + 16, bytes);
  if constexpr (kVectors > 2) _tile_stored(2, sums + 32, bytes);
  float* lower = sums + kBf16Rows * stride;
  if constexpr (kTiles > 1) _tile_stored(3, lower, bytes);
  if constexpr (kTiles > 1 && kVectors > 1) _tile_stored(4, lower + 16, bytes);
  if constexpr (kTiles > 1 && kVectors > 2) _tile_stored(5, lower + 32, bytes);
}

template <int kVectors>
void all_tile_rows(const Bf16Block& block) {
  alignas(64) float sums[2 * kBf16Rows * kBf16PanelColumns];
  const bool plain = !block.accumulate && is_direct(block);
  for (std::int64_t row = 0; row < block.rows; row += 2 * kBf16Rows) {
    const std::int64_t left = block.rows - row, rows = left < 2 * kBf16Rows ? left : 2 * kBf16Rows;
    const std::uint16_t* a = block.a.data + row / kBf16Rows * block.a.group;
    const bool direct = plain && rows % kBf16Rows == 0;
    float* to = direct ? block.c + row * block.ldc : sums;
    const std::int64_t stride = direct ? block.ldc : kVectors * kBf16Columns;
    if (rows > kBf16Rows)
      tile_rows<2, kVectors>(block, a, to, stride);
    else
      tile_rows<1, kVectors>(block, a, to, stride);
    if (!direct) finish_rows<true>(block, row, rows, sums);
  }
}

void multiply_tiles(const Bf16Block& block) {
  TileShapes shapes;
  const int rows = static_cast<int>(block.rows < kBf16Rows ? block.rows : kBf16Rows);
  for (int tile = 0; tile < 7; ++tile) shapes.set(tile, rows, 64);
  shapes.set(7, 16, 64);
  _tile_loadconfig(&shapes);
  for_each_panel_by_width(block, {all_tile_rows<1>, all_tile_rows<2>, all_tile_rows<3>});
  _tile_release();
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA::bf16
HWY_POP_ATTRIBUTES
#endif
