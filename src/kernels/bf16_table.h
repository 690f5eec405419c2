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
  std::int64_t line_stride = 0, step_stride = 1;
  std::int64_t lines = 0, steps = 0;
};

// `rows` rows of C times one panel.
struct Bf16Block {
  std::int64_t rows = 0, columns = 0, blocks = 0;  // blocks of kBf16Steps steps
  const std::uint16_t* a = nullptr;                // tiles
  const std::uint16_t* b = nullptr;                // a panel
  float* c = nullptr;                              // the block's first element; row stride ldc
  std::int64_t ldc = 0;
  bool accumulate = false;
  const Epilogue* epilogue = nullptr;
  std::int64_t row = 0, column = 0;  // position of the block in C, for the epilogue

  std::int64_t width() const { return (columns + kBf16Columns - 1) / kBf16Columns * kBf16Columns; }
};

struct Bf16Table {
  struct Path {
    void (*pack_a)(const Bf16Source& source, std::uint16_t* tiles) = nullptr;
    void (*pack_b)(const Bf16Source& source, std::uint16_t* panel) = nullptr;  // packs at most one panel
    void (*multiply)(const Bf16Block& block) = nullptr;
  };
  Path of[3];  // indexed by Bf16Path; entries that the instruction set lacks are empty
};

}  // namespace regard::kernels
