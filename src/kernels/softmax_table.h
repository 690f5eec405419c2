// Function table of softmax, log-sum-exp, top-k and cross-entropy. Each function processes all rows (top_k:
// one row) on the calling thread.
#pragma once

#include <cstdint>

namespace regard::kernels {

// Arguments of cross_entropy() and cross_entropy_backward() in kernels/rows.h.
struct CrossEntropyRows {
  std::int64_t rows = 0, classes = 0;
  const float* logits = nullptr;
  const std::int32_t* targets = nullptr;
  float label_smoothing = 0.0f;
  std::int32_t ignore_index = 0;
  float* loss = nullptr;
  float* lse = nullptr;
  const float* known_lse = nullptr;  // log-sum-exp from the forward pass; an input of the backward pass
  float factor = 1.0f;
  float* gradient = nullptr;
};

struct SoftmaxTable {
  void (*softmax)(const float* x, float* y, std::int64_t rows, std::int64_t columns);
  void (*softmax_backward)(const float* y, const float* dy, float* dx, std::int64_t rows,
                           std::int64_t columns);
  void (*log_softmax)(const float* x, float* y, std::int64_t rows, std::int64_t columns);
  void (*log_softmax_backward)(const float* y, const float* dy, float* dx, std::int64_t rows,
                               std::int64_t columns);
  void (*log_sum_exp)(const float* x, float* lse, std::int64_t rows, std::int64_t columns);
  void (*top_k)(const float* x, std::int64_t columns, std::int64_t k, float* values, std::int32_t* indices);
  void (*cross_entropy)(const CrossEntropyRows& problem);
  void (*cross_entropy_backward)(const CrossEntropyRows& problem);
};

}  // namespace regard::kernels
