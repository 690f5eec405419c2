// Function table of layer norm and RMS norm. Each function processes rows [begin, end), or all `rows` rows,
// on the calling thread.
#pragma once

#include "kernels/rows.h"

namespace regard::kernels {

struct NormTable {
  void (*norm)(const Norm& problem, std::int64_t begin, std::int64_t end);
  // Compute dx, and add the weight gradients of these rows to gain_sum and bias_sum [columns] unless they are
  // null.
  void (*norm_backward)(const NormBackward& problem, std::int64_t begin, std::int64_t end, float* gain_sum,
                        float* bias_sum);
  // Compute sum[c] += Σ_rows dy[row, c], in order.
  void (*sum_rows)(const float* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sum);
};

}  // namespace regard::kernels
