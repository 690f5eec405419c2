// Function table of the element-wise kernels. Each function runs on the calling thread.
#pragma once

#include "kernels/dropout_draw.h"
#include "kernels/rows.h"

namespace regard::kernels {

struct DropoutRows {
  DropoutDraw draw;
  const std::uint64_t* sequence_index = nullptr;
  const std::int32_t* position = nullptr;
  const float* x = nullptr;
  const float* residual = nullptr;  // may be null
  float* y = nullptr;
  std::int64_t rows = 0, columns = 0;
};

struct RotaryRows {
  float* x = nullptr;
  std::int64_t stride = 0, rows = 0, heads = 0, head_dim = 0, rotary_dim = 0;
  const std::int32_t* position = nullptr;
  const float* cosine = nullptr;
  const float* sine = nullptr;
  bool interleaved = false, inverse = false;
};

struct ElementwiseTable {
  void (*add)(const float* a, const float* b, float* y, std::int64_t count);
  void (*multiply)(const float* a, const float* b, float* y, std::int64_t count);
  void (*multiply_add)(const float* a, const float* b, float* y, std::int64_t count);
  void (*scale)(const float* x, float factor, float* y, std::int64_t count);
  void (*axpy)(float factor, const float* x, float* y, std::int64_t count);
  void (*activate)(Activation activation, const float* x, float* y, std::int64_t count);
  void (*activate_backward)(Activation activation, const float* x, const float* dy, float* dx,
                            std::int64_t count);
  void (*dropout)(const DropoutRows& problem);
  void (*rotary)(const RotaryRows& problem);
  // Compute sum[c] += factor · dy[row, c] for each of `count` rows, in order. The low 32 bits of sorted[i]
  // are the index of the i-th row.
  void (*gather_rows)(const float* dy, const std::uint64_t* sorted, std::int64_t count, std::int64_t columns,
                      float factor, float* sum);
  void (*adamw)(const AdamW& step, float* weight, const float* gradient, float* first, float* second,
                std::int64_t count);
  double (*sum_of_squares)(const float* x, std::int64_t count);
};

// Return the table of the active instruction set.
const ElementwiseTable& elementwise();

}  // namespace regard::kernels
