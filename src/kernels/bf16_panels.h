// Matrix products of bf16 attention, and the memory of their operands in a worker's scratch buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/bf16_table.h"
#include "kernels/gemm_tiling.h"

namespace regard::kernels {

inline std::int64_t padded_steps(std::int64_t k) {
  return round_up(k, kBf16Steps);
}

constexpr std::int64_t kCacheLine = 64;  // size of a cache line in bytes

// Divides a buffer into aligned arrays. If the buffer is null, take() returns null and only counts the
// required bytes.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    T* piece = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += round_up(count * static_cast<std::int64_t>(sizeof(T)), kCacheLine);
    return piece;
  }
  std::size_t used() const { return static_cast<std::size_t>(used_); }

 private:
  std::byte* memory_;
  std::int64_t used_ = 0;
};

// Operand B of products as packed panels: n columns of k steps.
struct Panels {
  std::uint16_t* data = nullptr;
  std::int64_t n = 0, k = 0;

  static std::int64_t size(std::int64_t n, std::int64_t k) {
    return ceil_divide(n, kBf16PanelColumns) * kBf16PanelColumns * padded_steps(k);
  }
  std::uint16_t* panel(std::int64_t index) const {
    return data + index * kBf16PanelColumns * padded_steps(k);
  }
  // Pack all columns of B. `source` is Bᵀ [n, k].
  void pack(const Bf16Table::Path& path, const Bf16Source& source) {
    n = source.lines, k = source.steps;
    for (std::int64_t column = 0; column < n; column += kBf16PanelColumns) {
      Bf16Source one = source;
      one.lines = std::min(kBf16PanelColumns, n - column);
      if (one.stored != nullptr)
        one.stored += column * source.line_stride;
      else
        one.data += column * source.line_stride;
      path.pack_b(one, panel(column / kBf16PanelColumns));
    }
  }
};

// Arguments of C = A B or C += A B for a range of columns of B, summed over `steps` elements of the inner
// dimension. All columns of each panel that overlaps the range are written to C.
struct PanelProduct {
  Bf16Tiles a;  // [rows, steps]
  std::int64_t rows = 0;
  Range columns;                           // columns.begin is a multiple of kBf16PanelColumns
  std::int64_t first_step = 0, steps = 0;  // first_step is a multiple of kBf16Steps
  float* c = nullptr;                      // points to the element in row 0 and column columns.begin
  std::int64_t ldc = 0;
  bool accumulate = false;

  void run(const Bf16Table::Path& path, const Panels& b) const {
    Bf16Block block;
    block.rows = rows, block.blocks = ceil_divide(steps, kBf16Steps);
    block.a = a, block.ldc = ldc, block.accumulate = accumulate;
    for (std::int64_t column = columns.begin; column < columns.end; column += kBf16PanelColumns) {
      block.columns = std::min(kBf16PanelColumns, b.n - column);
      block.c = c + (column - columns.begin);
      block.b = b.panel(column / kBf16PanelColumns) + first_step * block.width();
      path.multiply(block);
    }
  }
};

inline Bf16Source stored_source(const std::uint16_t* data, std::int64_t line_stride, std::int64_t step_stride,
                                std::int64_t lines, std::int64_t steps) {
  Bf16Source source;
  source.stored = data, source.line_stride = line_stride, source.step_stride = step_stride;
  source.lines = lines, source.steps = steps;
  return source;
}

inline Bf16Source f32_source(const float* data, std::int64_t line_stride, std::int64_t step_stride,
                             std::int64_t lines, std::int64_t steps) {
  Bf16Source source;
  source.data = data, source.line_stride = line_stride, source.step_stride = step_stride;
  source.lines = lines, source.steps = steps;
  return source;
}

// Return operand A: a view of `source` if `path` can multiply it unpacked, otherwise a packed copy in
// `memory`.
inline Bf16Tiles tiles_of(const Bf16Table::Path& path, const Bf16Source& source, std::uint16_t* memory) {
  if (path.reads_rows && source.stored != nullptr && source.step_stride == 1 &&
      source.lines % kBf16Rows == 0 && source.steps % kBf16Steps == 0)
    return Bf16Tiles::matrix(source.stored, source.line_stride);
  path.pack_a(source, memory);
  return Bf16Tiles::packed(memory, ceil_divide(source.steps, kBf16Steps));
}

}  // namespace regard::kernels
