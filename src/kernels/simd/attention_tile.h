// The matrix products inside attention, on small matrices in scratch memory, padded to whole vectors. Every
// element is one chain of fused multiply-adds in the order of k, so the division into register tiles does not
// change bits.
#pragma once

#include <hwy/cache_control.h>

#include <cstdint>

#include "kernels/simd/gemm_pack.h"
#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Maximum number of rows of a tile with 1, 2 and 3 vectors. The sums, one row of B and one broadcast element
// of A then fit into the registers.
#if HWY_TARGET == HWY_AVX2
constexpr int kMostRows[3] = {12, 6, 4};
#else
constexpr int kMostRows[3] = {12, 12, 8};
#endif
constexpr std::int64_t kMostVectors = 3;

// The number of rows in scratch memory is padded to a multiple of this, which halves the number of tile
// functions.
constexpr std::int64_t kRowStep = 2;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b * b;
}
constexpr std::int64_t pad(std::int64_t columns) {
  return round_up(columns, kLanes);
}

// Access to the rows of A in a tile: row(i) returns element (i, k) for the current k; step() advances k.
struct AlongK {  // A [rows, k]
  const float* at;
  std::int64_t stride;
  HWY_INLINE float row(int i) const { return at[i * stride]; }
  HWY_INLINE void step() { ++at; }
};
template <std::int64_t kStride>
struct AlongKFixed {  // A [rows, k] with a stride known at compile time
  const float* at;
  HWY_INLINE float row(int i) const { return at[i * kStride]; }
  HWY_INLINE void step() { ++at; }
};
struct AlongRows {  // A [k, rows]
  const float* at;
  std::int64_t stride;
  HWY_INLINE float row(int i) const { return at[i]; }
  HWY_INLINE void step() { at += stride; }
};

struct Right {  // operand B of the product, [k, vectors]
  const float* at;
  std::int64_t stride;
};
struct Target {  // result C of the product, [rows, vectors]
  float* at;
  std::int64_t stride;
};

enum class Start { zero, target, corrected };

// Compute C = start + A B. The start is 0 (Start::zero), C (Start::target), or C with each row multiplied by
// its factor in `correction` (Start::corrected).
template <int kRows, int kVectors, Start kStart, class Left>
HWY_INLINE void multiply_tile(Left left, Right right, std::int64_t k, Target target,
                              const float* correction = nullptr) {
  const Floats d;
  FloatVector sum[kRows][kVectors];
  for (int row = 0; row < kRows; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      const float* from = target.at + row * target.stride + vector * kLanes;
      sum[row][vector] = kStart == Start::zero ? hn::Zero(d) : hn::Load(d, from);
      if (kStart == Start::corrected)
        sum[row][vector] = hn::Mul(sum[row][vector], hn::Set(d, correction[row]));
    }
  }
  for (; k > 0; --k, left.step(), right.at += right.stride) {
    FloatVector columns[kVectors];
    for (int vector = 0; vector < kVectors; ++vector)
      columns[vector] = hn::Load(d, right.at + vector * kLanes);
    for (int row = 0; row < kRows; ++row) {
      const auto factor = hn::Set(d, left.row(row));
      for (int vector = 0; vector < kVectors; ++vector)
        sum[row][vector] = hn::MulAdd(factor, columns[vector], sum[row][vector]);
    }
  }
  for (int row = 0; row < kRows; ++row)
    for (int vector = 0; vector < kVectors; ++vector)
      hn::Store(sum[row][vector], d, target.at + row * target.stride + vector * kLanes);
}

// multiply_tile() is inlined, because with the small k of attention a call per tile would cost 10 % of the
// time. Tiles with fewer than the maximum number of rows are rare, so they are not inlined.
template <int kRows, int kVectors, Start kStart, class Left>
HWY_NOINLINE void multiply_low_tile(Left left, Right right, std::int64_t k, Target target,
                                    const float* correction) {
  multiply_tile<kRows, kVectors, kStart>(left, right, k, target, correction);
}

// Multiply a tile of `rows` rows. `rows` must be even and at most kMostRows[kVectors − 1].
template <int kVectors, Start kStart, class Left>
HWY_INLINE void multiply_rows(std::int64_t rows, Left left, Right right, std::int64_t k, Target target,
                              const float* correction = nullptr) {
  constexpr int kMost = kMostRows[kVectors - 1];
  if (rows == kMost) return multiply_tile<kMost, kVectors, kStart>(left, right, k, target, correction);
  if (rows == 2) multiply_low_tile<2, kVectors, kStart>(left, right, k, target, correction);
  if constexpr (kMost > 4)
    if (rows == 4) multiply_low_tile<4, kVectors, kStart>(left, right, k, target, correction);
  if constexpr (kMost > 6)
    if (rows == 6) multiply_low_tile<6, kVectors, kStart>(left, right, k, target, correction);
  if constexpr (kMost > 8)
    if (rows == 8) multiply_low_tile<8, kVectors, kStart>(left, right, k, target, correction);
  if constexpr (kMost > 10)
    if (rows == 10) multiply_low_tile<10, kVectors, kStart>(left, right, k, target, correction);
}

// Return the number of rows per register tile if `rows` rows are divided into as few tiles as possible, with
// nearly equal heights.
template <int kVectors>
constexpr std::int64_t sliver_rows(std::int64_t rows) {
  constexpr std::int64_t kMost = kMostRows[kVectors - 1];
  const std::int64_t slivers = (rows + kMost - 1) / kMost;
  return slivers == 0 ? kMost : round_up((rows + slivers - 1) / slivers, kRowStep);
}

template <int kCount>
struct Vectors {
  static constexpr int value = kCount;
};

// Call body(Vectors<count>(), first) for groups of 1 to 3 vectors; `first` is the group's first vector. A
// group of one vector occurs only if `vectors` is 1.
template <class Body>
HWY_INLINE void for_each_group(std::int64_t vectors, Body&& body) {
  for (std::int64_t vector = 0; vector < vectors;) {
    const std::int64_t left = vectors - vector;
    if (left % 3 == 0 || (left > 3 && left % 2 == 1)) {
      body(Vectors<3>(), vector);
      vector += 3;
    } else if (left >= 2) {
      body(Vectors<2>(), vector);
      vector += 2;
    } else {
      body(Vectors<1>(), vector);
      vector += 1;
    }
  }
}

// Allocates arrays from scratch memory in multiples of 64 bytes. If the memory is null, only the required
// bytes are counted.
class Carver {
 public:
  explicit Carver(std::byte* memory) : memory_(memory) {}
  float* floats(std::int64_t count) {
    float* region = memory_ == nullptr ? nullptr : reinterpret_cast<float*>(memory_ + used_);
    used_ += static_cast<std::size_t>(round_up(count, 16)) * sizeof(float);
    return region;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

inline void clear(float* at, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) hn::Store(hn::Zero(Floats()), Floats(), at + i);
}

// Rows of the caller's matrix. Unlike rows in scratch memory, they are not padded to whole vectors.
struct Rows {
  const float* at = nullptr;
  std::int64_t stride = 0, count = 0, columns = 0;
};

// Copy rows to out [round_up(count, kRowStep), pad(columns)], zero-padded.
inline void copy_rows(Rows rows, float* out) {
  const Floats d;
  const std::int64_t width = pad(rows.columns);
  for (std::int64_t row = 0; row < rows.count; ++row, rows.at += rows.stride, out += width) {
    std::int64_t column = 0;
    for (; column + kLanes <= rows.columns; column += kLanes)
      hn::Store(hn::LoadU(d, rows.at + column), d, out + column);
    if (column < rows.columns)
      hn::Store(load_first(d, rows.at + column, rows.columns - column), d, out + column);
  }
  if (rows.count % kRowStep != 0) clear(out, width);
}

// Copy rows of scratch, with row stride pad(columns), to rows [count, columns] in memory.
inline void store_rows(const float* from, std::int64_t count, std::int64_t columns, float* to,
                       std::int64_t stride) {
  const Floats d;
  const std::int64_t width = pad(columns);
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t column = 0; column < columns; column += kLanes)
      store_first(hn::Load(d, from + row * width + column), d, to + row * stride + column, columns - column);
}

// Transpose rows to out [columns, width]. Row i becomes lane i; the other lanes of the last vector are zero.
inline void copy_transposed(const Rows& rows, float* out, std::int64_t width) {
  for (std::int64_t row = 0; row < rows.count; row += kLanes) {
    const float* lanes = rows.at + row * rows.stride;
    std::int64_t column = 0;
    if (rows.count - row >= kLanes)
      for (; column + 4 <= rows.columns; column += 4)
        transpose_quads(lanes + column, rows.stride, out + column * width + row, width);
    for (; column < rows.columns; column += 4)
      transpose_rest(lanes + column, rows.stride, rows.count - row, rows.columns - column,
                     out + column * width + row, width);
  }
}

// Prefetches rows that the next computation reads. Each call of fetch(), during the current computation,
// prefetches a few rows.
class Fetcher {
 public:
  explicit Fetcher(std::int64_t rows_at_once) : rows_at_once_(rows_at_once) {}
  // Add rows to queue number `line`; fetch() prefetches the next rows of every queue. After kMostSources
  // calls, further calls are ignored.
  void add(Rows rows, int line) {
    if (count_ < kMostSources) lines_[count_] = line, sources_[count_++] = rows;
  }
  void add(Rows rows) { add(rows, 2 + count_); }
  HWY_INLINE void fetch() {
    std::uint32_t busy = 0;
    for (int i = 0; i < count_; ++i) {
      Rows& rows = sources_[i];
      if (rows.count == 0 || (busy >> lines_[i] & 1) != 0) continue;
      busy |= std::uint32_t{1} << lines_[i];
      for (std::int64_t row = 0; row < rows_at_once_ && rows.count > 0; ++row, --rows.count) {
        // Prefetch into the L2 cache, because the current computation uses the L1 cache.
        for (std::int64_t column = 0; column < rows.columns; column += kFloatsInLine)
          __builtin_prefetch(rows.at + column, 0, 2);
        rows.at += rows.stride;
      }
    }
  }

 private:
  std::int64_t rows_at_once_;
  int count_ = 0;
  static constexpr int kMostSources = 16;
  Rows sources_[kMostSources];
  int lines_[kMostSources];
};

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
