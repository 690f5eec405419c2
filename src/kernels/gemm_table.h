// The inner loops of matrix products that each instruction set provides to src/kernels/gemm.cpp (blocking,
// threads).
//
// B is read from panels of `tile_columns` columns, [k, tile_columns], so that a step of k reads consecutive
// floats. The last panel has the smallest number of whole vectors that fits and is padded with zeros. A is
// read in place or, if it is transposed, from slivers [k, tile_rows].
#pragma once

#include <cstdint>

#include "kernels/gemm.h"

namespace regard::kernels {

// C [rows, columns] = or += A [rows, k] · B [k, columns]; `columns` may span several panels.
struct GemmBlock {
  std::int64_t rows = 0, columns = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;  // stride between rows; between steps of k if a_transposed
  std::int64_t a_sliver = 0;  // stride between slivers of tile_rows rows
  bool a_transposed = false;
  const float* b = nullptr;
  std::int64_t b_stride = 0;  // stride between steps of k; unused if b_packed
  std::int64_t b_panel = 0;   // stride between panels
  bool b_packed = false;      // b is in panels; the stride between steps of k is the panel's width
  std::int64_t b_start = 0;   // the first step of k within each panel
  // Null, or the start of one panel's worth of memory to prefetch during the last rows of the last panel.
  const void* ahead = nullptr;
  float* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;  // start from C
  // If not null, packed f16 (bf16 if `brain`) from the block's first step on, used in place of b; b_panel
  // then counts 16-bit elements.
  const std::uint16_t* halves = nullptr;
  bool brain = false;
  // If not null, a buffer [k, tile_columns] into which the 16-bit elements are widened once for all rows of
  // the block. The block's columns are then in one panel.
  float* widened = nullptr;
  // If not null, the epilogue of the whole product, to apply after the last step of k. This block starts at
  // (row, column).
  const Epilogue* epilogue = nullptr;
  std::int64_t epilogue_row = 0, epilogue_column = 0;
};

// Destination of panels of B or slivers of A. The i-th is at data + i · panel. The last panel of B has
// `columns` rounded up to whole vectors, zero-padded.
struct PackedPanels {
  float* data = nullptr;
  std::int64_t panel = 0;
  std::int64_t start = 0;  // the first step of k within each panel
};

struct GemmTable {
  std::int64_t lanes = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;
  std::int64_t panels_together = 1;  // panels per call of multiply_halves if there are few rows

  void (*multiply)(const GemmBlock& block) = nullptr;

  // Multiply with `halves`; A is not transposed.
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
