// Function table of the inner loops of matrix products, one table per instruction set. src/kernels/gemm.cpp
// chooses the blocking and the threads.
//
// B is read from panels [k, tile_columns], so each step of k reads consecutive floats. The last panel may be
// narrower: its columns are padded with zeros to whole vectors. A is read in place. If it is transposed and
// packed, it is read from slivers [k, tile_rows].
#pragma once

#include <cstdint>

#include "kernels/gemm.h"

namespace regard::kernels {

// Arguments of a block: C [rows, columns] = A [rows, k] · B [k, columns], plus C if `accumulate`. The block
// may span several panels.
struct GemmBlock {
  std::int64_t rows = 0, columns = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;  // stride between rows, or between steps of k if a_transposed
  std::int64_t a_sliver = 0;  // stride between slivers of tile_rows rows
  bool a_transposed = false;
  const float* b = nullptr;
  std::int64_t b_stride = 0;  // stride between steps of k; unused if b_packed
  std::int64_t b_panel = 0;   // stride between panels
  bool b_packed = false;      // B is packed in panels; the stride between steps of k is the panel's width
  std::int64_t b_start = 0;   // index of the block's first step of k within each panel
  // If not null, memory of the size of one panel, which is prefetched while the last rows of the last panel
  // are computed.
  const void* ahead = nullptr;
  float* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;  // if true, add the product to the value in C
  // If not null, packed f16 (bf16 if `brain`) elements that replace b, starting at the block's first step of
  // k. The unit of b_panel is then 16-bit elements.
  const std::uint16_t* halves = nullptr;
  bool brain = false;
  // If not null, a buffer [k, tile_columns] in which the elements of `halves` are stored as f32, converted
  // once for all rows of the block. All of the block's columns must then be in one panel.
  float* widened = nullptr;
  // If not null, the epilogue of the whole product, which is applied after the last step of k. The block's
  // first element is (epilogue_row, epilogue_column) of C.
  const Epilogue* epilogue = nullptr;
  std::int64_t epilogue_row = 0, epilogue_column = 0;
};

// Destination of panels of B or slivers of A; the i-th panel or sliver is at data + i · panel. The last panel
// of B is padded with zero columns to whole vectors.
struct PackedPanels {
  float* data = nullptr;
  std::int64_t panel = 0;
  std::int64_t start = 0;  // index of the first step of k within each panel
};

struct GemmTable {
  std::int64_t lanes = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;
  std::int64_t panels_together = 1;  // panels multiplied at once for at most kRowsTogether rows (gemm_half.h)

  void (*multiply)(const GemmBlock& block) = nullptr;

  // Multiply with GemmBlock::halves as B. A must not be transposed.
  void (*multiply_halves)(const GemmBlock& block) = nullptr;
  // Compute y = factor · x for `count` consecutive 16-bit elements.
  void (*widen)(const std::uint16_t* x, bool brain, std::int64_t count, float factor, float* y) = nullptr;

  // Pack b [k, columns] or, transposed, [columns, k] into panels [k, tile_columns].
  void (*pack_b)(const float* b, std::int64_t ldb, bool transposed, std::int64_t k, std::int64_t columns,
                 const PackedPanels& out) = nullptr;
  // Pack a [k, rows] into slivers [k, tile_rows]; elements beyond `rows` in the last sliver are not written.
  void (*pack_a)(const float* a, std::int64_t lda, std::int64_t k, std::int64_t rows,
                 const PackedPanels& out) = nullptr;
};

}  // namespace regard::kernels
