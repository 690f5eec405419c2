// What src/kernels/int8.cpp asks of one instruction set.
//
// B lies in panels as gemm_table.h has them, with four consecutive bytes of k where a float would be:
// [k / 4, width, 4], the last step filled with zeros. A lies in rows of bytes, filled with zeros likewise.
#pragma once

#include <cstdint>

#include "kernels/gemm_table.h"
#include "kernels/int8.h"

namespace regard::kernels {

// Sums [rows, width] of rows of A and one panel.
struct Int8Block {
  std::int64_t rows = 0;
  std::int64_t vectors = 0;  // width of the panel in vectors of the instruction set
  std::int64_t groups = 0;   // steps of four bytes
  const std::int8_t* a = nullptr;
  std::int64_t a_stride = 0;  // bytes
  const std::int8_t* b = nullptr;
  std::int32_t* sums = nullptr;
  const std::int8_t* next = nullptr;  // null, or the panel wanted after this one: fetched meanwhile
};

// What a row's bytes stand for: step · byte + middle.
struct RowScale {
  float step, middle;
};

// From sums to C.
struct Int8Finish {
  std::int64_t rows = 0, columns = 0, width = 0;
  const std::int32_t* sums = nullptr;         // [rows, width]
  bool flipped = false;                       // A's bytes were 128 more than they should: taken off each sum
  const RowScale* row_scale = nullptr;        // [rows]
  const float* column_scale = nullptr;        // [columns]
  const std::int32_t* column_sums = nullptr;  // [columns], of B's bytes
  float* c = nullptr;
  std::int64_t ldc = 0;
  const Epilogue* epilogue = nullptr;
  std::int64_t row = 0, column = 0;  // where this block begins in the whole product
};

struct Int8Table {
  std::int64_t lanes = 0, width = 0;  // of a vector, of a panel: as GemmTable's

  // x [columns] → q, symmetric. Returns the scale.
  float (*quantise)(const float* x, std::int64_t columns, std::int8_t* q) = nullptr;
  // The same around the middle of the row's numbers, filled with zeros up to `padded` bytes; flip is combined
  // with every byte by exclusive or.
  RowScale (*quantise_centred)(const float* x, std::int64_t columns, std::int64_t padded, std::uint8_t flip,
                               std::int8_t* q) = nullptr;
  void (*dequantise)(const std::int8_t* q, std::int64_t columns, float factor, float* y) = nullptr;
  void (*finish)(const Int8Finish& block) = nullptr;
  // Null where this build or this instruction set has none; the processor must have it.
  using Multiply = void (*)(const Int8Block& block);
  Multiply multiply[6] = {};  // by Int8Path
};

}  // namespace regard::kernels
