// The inner loops of bf16 products that each instruction set provides to src/kernels/bf16.cpp.
//
// A is packed into tiles [kBf16Rows rows][kBf16Steps steps of k], the tiles of the same rows side by side. B
// is packed into panels of kBf16PanelColumns columns, the last one of a multiple of kBf16Columns: [steps / 2]
// [columns] [2], two consecutive steps of k in each 32 bits. Both are padded with zeros.
#pragma once

#include <cstdint>

#include "kernels/bf16.h"

namespace regard::kernels {

constexpr std::int64_t kBf16Rows = 16, kBf16Columns = 16, kBf16Steps = 32, kBf16PanelColumns = 48;
static_assert(kPackedColumnStep % kBf16PanelColumns == 0);

// A matrix [lines, steps] in memory: element (line, step) at data[line · line_stride + step · step_stride],
// where one of the strides is 1. The lines are rows of A or columns of B.
struct Bf16Source {
  const float* data = nullptr;
  const std::uint16_t* stored = nullptr;  // instead of data: bf16
  std::int64_t line_stride = 0, step_stride = 1;
  std::int64_t lines = 0, steps = 0;
};

// A block of C: `rows` rows of A times one panel of B.
struct Bf16Block {
  std::int64_t rows = 0, columns = 0, blocks = 0;  // blocks of kBf16Steps steps
  const std::uint16_t* a = nullptr;                // tiles
  const std::uint16_t* b = nullptr;                // a panel
  float* c = nullptr;                              // the block's first element; row stride ldc
  std::int64_t ldc = 0;
  // If the results are stored as bf16, these replace c and epilogue->pre. They point to the block's first
  // element.
  std::uint16_t* stored = nullptr;
  std::uint16_t* stored_pre = nullptr;
  bool accumulate = false;
  const Epilogue* epilogue = nullptr;
  std::int64_t row = 0, column = 0;  // position of the block in C, for the epilogue

  std::int64_t width() const { return (columns + kBf16Columns - 1) / kBf16Columns * kBf16Columns; }
};

// A row of scores of bf16 attention: the first `count` are computed, and `rounded` is cleared from there to
// `padded`.
struct Bf16ScoreRow {
  float* scores = nullptr;
  std::uint16_t* rounded = nullptr;
  std::int64_t count = 0, padded = 0;
  float scale = 1.0f;
};
struct Bf16RowSum {
  float maximum = 0.0f, sum = 0.0f;
};

struct Bf16Table {
  struct Path {
    void (*pack_a)(const Bf16Source& source, std::uint16_t* tiles) = nullptr;
    void (*pack_b)(const Bf16Source& source, std::uint16_t* panel) = nullptr;  // packs at most one panel
    void (*multiply)(const Bf16Block& block) = nullptr;
  };
  Path of[3];  // indexed by Bf16Path; paths that the instruction set lacks are empty
  void (*round)(const float* x, std::uint16_t* y, std::int64_t count) = nullptr;
  void (*widen)(const std::uint16_t* x, float* y, std::int64_t count) = nullptr;
  // Rows of attention; simd/bf16_attention.h has the formulas.
  Bf16RowSum (*softmax_row)(const Bf16ScoreRow& row) = nullptr;
  void (*weights_row)(const Bf16ScoreRow& row, float lse) = nullptr;
  void (*score_gradient_row)(const Bf16ScoreRow& row, const float* weight_gradient, float delta) = nullptr;
  float (*product_sum)(const float* x, const std::uint16_t* y, std::int64_t size) = nullptr;
  void (*scale_row)(const float* x, float factor, std::uint16_t* y, std::int64_t size) = nullptr;
};

const Bf16Table& bf16_functions();  // return the table of the active instruction set

}  // namespace regard::kernels
