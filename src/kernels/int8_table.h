// Function table of the inner loops of int8 products, one table per instruction set; used by
// src/kernels/int8.cpp.
//
// B is in panels as in gemm_table.h, with four consecutive bytes of k in place of each float: [k / 4, width,
// 4]. The last step is zero-padded. A row of A consists of bytes, zero-padded to a multiple of four.
#pragma once

#include <cstdint>

#include "kernels/gemm_table.h"
#include "kernels/int8.h"

namespace regard::kernels {

// Arguments of a block: sums [rows, width] = A [rows, k] · B [k, width], where B is one panel.
struct Int8Block {
  std::int64_t rows = 0;
  std::int64_t vectors = 0;  // width of the panel in vectors of the instruction set
  std::int64_t groups = 0;   // number of groups of four bytes along k: k / 4, rounded up
  const std::int8_t* a = nullptr;
  std::int64_t a_stride = 0;  // stride between rows of A, in bytes
  const std::int8_t* b = nullptr;
  std::int32_t* sums = nullptr;
  const std::int8_t* next = nullptr;  // next panel, which is prefetched; may be null
};

// Scale of a quantised row: an element is step · byte + middle.
struct RowScale {
  float step, middle;
};

// Arguments for converting integer sums to elements of C.
struct Int8Finish {
  std::int64_t rows = 0, columns = 0, width = 0;
  const std::int32_t* sums = nullptr;  // [rows, width]
  bool flipped = false;  // true if A's bytes have an offset of 128, whose contribution must be subtracted
  const RowScale* row_scale = nullptr;        // [rows]
  const float* column_scale = nullptr;        // [columns]
  const std::int32_t* column_sums = nullptr;  // [columns]: sums of the bytes of B
  float* c = nullptr;
  std::int64_t ldc = 0;
  const Epilogue* epilogue = nullptr;
  std::int64_t row = 0, column = 0;  // position of this block in the complete product
};

struct Int8Table {
  std::int64_t lanes = 0, width = 0;  // lanes per vector and columns per panel, as in GemmTable

  // Quantise x [columns] symmetrically; write the bytes to q and return the scale.
  float (*quantise)(const float* x, std::int64_t columns, std::int8_t* q) = nullptr;
  // Quantise x around the middle of its range to q, zero-padded to `padded` bytes. Every byte is XORed with
  // `flip`.
  RowScale (*quantise_centred)(const float* x, std::int64_t columns, std::int64_t padded, std::uint8_t flip,
                               std::int8_t* q) = nullptr;
  void (*dequantise)(const std::int8_t* q, std::int64_t columns, float factor, float* y) = nullptr;
  void (*finish)(const Int8Finish& block) = nullptr;
  // A pointer is null if this build or instruction set lacks the path. Call the function only if the
  // processor supports the path.
  using Multiply = void (*)(const Int8Block& block);
  Multiply multiply[6] = {};  // functions, indexed by Int8Path
};

}  // namespace regard::kernels
