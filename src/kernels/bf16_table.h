// Function table of the inner loops of bf16 products, one table per instruction set; used by
// src/kernels/bf16.cpp.
//
// A is packed into tiles [kBf16Rows] [kBf16Steps]; the tiles of the same rows are adjacent. B is packed into
// panels [steps / 2] [columns] [2]: each 32 bits hold two steps of k. A panel has kBf16PanelColumns columns;
// the last one may have fewer, in multiples of kBf16Columns. Tiles and panels are padded with zeros.
#pragma once

#include <cstdint>

#include "kernels/bf16.h"
#include "kernels/dropout_draw.h"

namespace regard::kernels {

constexpr std::int64_t kBf16Rows = 16, kBf16Columns = 16, kBf16Steps = 32, kBf16PanelColumns = 48;
static_assert(kPackedColumnStep % kBf16PanelColumns == 0);

// A matrix [lines, steps] in memory, whose lines are rows of A or columns of B. Element (line, step) is
// data[line · line_stride + step · step_stride]; one of the strides is 1.
struct Bf16Source {
  const float* data = nullptr;
  const std::uint16_t* stored = nullptr;  // elements stored as bf16; replaces data if not null
  std::int64_t line_stride = 0, step_stride = 1;
  std::int64_t lines = 0, steps = 0;
};

// Operand A of a block, in tiles; distances are in elements. If Path::reads_rows, operand A may also be an
// unpacked bf16 matrix whose sizes are multiples of the sizes of a tile.
struct Bf16Tiles {
  const std::uint16_t* data = nullptr;
  std::int64_t line = kBf16Steps;  // distance from one row of a tile to the next
  // distance from a tile to the next tile of the same rows (next steps)
  std::int64_t step = kBf16Rows * kBf16Steps;
  std::int64_t group = 0;  // distance from a tile to the tile of the next rows

  static Bf16Tiles packed(const std::uint16_t* tiles, std::int64_t blocks) {
    return {tiles, kBf16Steps, kBf16Rows * kBf16Steps, blocks * kBf16Rows * kBf16Steps};
  }
  static Bf16Tiles matrix(const std::uint16_t* rows, std::int64_t stride) {
    return {rows, stride, kBf16Steps, kBf16Rows * stride};
  }
};

// Dropout of C, with the draws of kernels::Dropout.
struct Bf16Dropout {
  DropoutDraw draw;
  const std::uint64_t* sequence_index = nullptr;  // [rows of C]
  const std::int32_t* position = nullptr;
};

// Operand B of a block, divided over cache pages (bf16_pages.h): part i of B starts at `at[i] + offset`.
struct Bf16PageParts {
  const float* const* at = nullptr;
  std::int64_t offset = 0;  // in floats
  std::int64_t count = 0;   // number of parts; used only if along_columns
  // If true, each part is a panel of Bf16Block::columns columns, and the results of the parts are adjacent in
  // C. If false, B is one panel, and each part contains one block of the panel's steps.
  bool along_columns = false;

  const std::uint16_t* part(std::int64_t i) const {
    return reinterpret_cast<const std::uint16_t*>(at[i] + offset);
  }
};

// Arguments of a block of C, which is `rows` rows of A times one panel of B.
struct Bf16Block {
  std::int64_t rows = 0, columns = 0, blocks = 0;  // the inner dimension is blocks · kBf16Steps
  Bf16Tiles a;
  const std::uint16_t* b = nullptr;  // a panel of B
  Bf16PageParts pages;               // pages that replace b if pages.at is set
  float* c = nullptr;                // first element of the block in C; row stride ldc
  std::int64_t ldc = 0;
  // If the results are stored as bf16 (Bf16Storage): `stored` replaces c, `stored_pre` replaces
  // epilogue->pre, and `activated` is Bf16Storage::activated. All point to the first element of the block.
  std::uint16_t* stored = nullptr;
  std::uint16_t* stored_pre = nullptr;
  std::uint16_t* activated = nullptr;
  const Bf16Dropout* dropout = nullptr;
  bool accumulate = false;
  const Epilogue* epilogue = nullptr;
  std::int64_t row = 0, column = 0;  // position of the block in C, for the epilogue

  std::int64_t width() const { return (columns + kBf16Columns - 1) / kBf16Columns * kBf16Columns; }
};

// A row of scores of bf16 attention. The first `count` elements are computed; `rounded` is set to zero from
// `count` to `padded`.
struct Bf16ScoreRow {
  float* scores = nullptr;
  std::uint16_t* rounded = nullptr;
  std::int64_t count = 0, padded = 0;
  float scale = 1.0f;
  // Dropout draws of the keys; keys with a draw below `threshold` are dropped. Null means no dropout.
  const std::uint16_t* draws = nullptr;
  std::uint32_t threshold = 0;
  float kept = 1.0f;  // factor of the attention weights that dropout keeps
};
// Dropout draws for `count` keys, starting at `first_key`, which is a multiple of 8 (attention_dropout.h).
struct Bf16DrawRow {
  const DropoutDraw& dropout;
  std::uint64_t sequence_index = 0;
  std::int64_t position = 0, head = 0, first_key = 0, count = 0;
  std::uint16_t* draws = nullptr;  // [count rounded up to a multiple of kBf16DrawStep]
};
constexpr std::int64_t kBf16DrawStep = 128;
// Arguments of apply_rule, which changes a row of scores in place before the softmax. It multiplies by the
// scale, applies the softcap, adds the bias, and sets the scores to −∞ where the mask is 0.
struct Bf16ScoreRule {
  float* scores = nullptr;  // [count]
  std::int64_t count = 0;
  float scale = 1.0f, softcap = 0.0f;
  const float* bias = nullptr;         // [count], may be null
  const std::uint8_t* mask = nullptr;  // [count], may be null
};
struct Bf16RowSum {
  float maximum = 0.0f, sum = 0.0f;
};

struct Bf16Table {
  struct Path {
    void (*pack_a)(const Bf16Source& source, std::uint16_t* tiles) = nullptr;
    void (*pack_b)(const Bf16Source& source, std::uint16_t* panel) = nullptr;  // pack at most one panel
    void (*multiply)(const Bf16Block& block) = nullptr;
    // Operations on rows of scores in bf16 attention; simd/bf16_attention.h states their formulas.
    Bf16RowSum (*softmax_row)(const Bf16ScoreRow& row) = nullptr;
    void (*weights_row)(const Bf16ScoreRow& row, float lse) = nullptr;
    void (*score_gradient_row)(const Bf16ScoreRow& row, const float* weight_gradient, float delta) = nullptr;
    void (*scale_row)(const float* x, float factor, std::uint16_t* y, std::int64_t size) = nullptr;
    bool reads_rows = false;  // true if A may be an unpacked matrix; see Bf16Tiles
  };
  Path of[3];  // indexed by Bf16Path; empty for paths that the instruction set lacks
  void (*round)(const float* x, std::uint16_t* y, std::int64_t count) = nullptr;
  void (*widen)(const std::uint16_t* x, float* y, std::int64_t count) = nullptr;
  // Compute NormTable::sum_rows for dy in bf16.
  void (*sum_rows)(const std::uint16_t* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                   float* sum) = nullptr;
  // Operations on rows of scores in bf16 attention. They do not round to bf16, so all paths share them.
  void (*draw_row)(const Bf16DrawRow& row) = nullptr;
  void (*apply_rule)(const Bf16ScoreRule& rule) = nullptr;
  float (*product_sum)(const float* x, const std::uint16_t* y, std::int64_t size) = nullptr;
};

const Bf16Table& bf16_functions();  // return the table of the active instruction set

}  // namespace regard::kernels
