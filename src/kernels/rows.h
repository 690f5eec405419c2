// Row-wise and element-wise kernels on arrays [rows, columns]. Rows are contiguous unless a stride is given.
// The result of a row depends only on that row. Sums within a row use the same accumulators and the same
// reduction tree for every length. The last elements are processed with masked vectors instead of scalar
// loops.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace regard::kernels {

// Compute y = softmax(x) over each row; the row's maximum is subtracted first. Entries of −∞ give 0, and a
// row of −∞ gives zeros.
void softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns);
// Compute dx = y ∘ (dy − Σ dy y).
void softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                      std::int64_t columns);
// y = x − lse(x)
void log_softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns);
void log_softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns);

// Compute lse[row] = log Σ exp x[row, ·], which is −∞ for a row of −∞.
void log_sum_exp(ThreadPool& pool, const float* x, float* lse, std::int64_t rows, std::int64_t columns);

// Find the k largest entries of each row, largest first; of equal entries, the leftmost is first. NaN and −∞
// are excluded; missing entries of `values` and `indices` [rows, k] are −∞ and −1.
void top_k(ThreadPool& pool, const float* x, std::int64_t rows, std::int64_t columns, std::int64_t k,
           float* values, std::int32_t* indices);

// Layer norm (Ba, Kiros, Hinton 2016): y = (x − mean) / √(variance + epsilon) · gain + bias; RMS norm (Zhang
// and Sennrich 2019): y = x / √(mean of squares + epsilon) · gain.
struct Norm {
  std::int64_t rows = 0, columns = 0;
  float epsilon = 1e-5f;
  bool rms = false;
  float gain_offset = 0.0f;            // added to the gain; 1 for Gemma, which multiplies by (1 + gain)
  const float* x = nullptr;            // [rows, columns]
  const float* gain = nullptr;         // [columns]; null means 1
  const float* bias = nullptr;         // [columns]; null means 0
  float* y = nullptr;                  // [rows, columns]
  float* mean = nullptr;               // [rows], for the backward pass; unused by RMS norms
  float* inverse_deviation = nullptr;  // [rows], for the backward pass
};
void norm(ThreadPool& pool, const Norm& problem);

struct NormBackward {
  std::int64_t rows = 0, columns = 0;
  bool rms = false;
  float gain_offset = 0.0f;
  const float* x = nullptr;
  const float* gain = nullptr;
  const float* mean = nullptr;
  const float* inverse_deviation = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;  // gradient of x; overwritten, or added to if accumulate_dx is set
  bool accumulate_dx = false;
  // Gradients [columns] of gain and bias, to which sums over fixed chunks of rows are added; null if not
  // needed.
  float* gain_gradient = nullptr;
  float* bias_gradient = nullptr;
};
void norm_backward(ThreadPool& pool, const NormBackward& problem);

// Element-wise functions of `count` elements.
void add(ThreadPool& pool, const float* a, const float* b, float* y, std::int64_t count);       // y = a + b
void multiply(ThreadPool& pool, const float* a, const float* b, float* y, std::int64_t count);  // y = a b
void multiply_add(ThreadPool& pool, const float* a, const float* b, float* y,
                  std::int64_t count);                                                     // y += a b
void scale(ThreadPool& pool, const float* x, float factor, float* y, std::int64_t count);  // y = factor x
void axpy(ThreadPool& pool, float factor, const float* x, float* y, std::int64_t count);   // y += factor x
void activate(ThreadPool& pool, Activation activation, const float* x, float* y, std::int64_t count);
// Compute dx = dy · activation'(x), where x is the value before the activation. dx and dy may be the same
// array.
void activate_backward(ThreadPool& pool, Activation activation, const float* x, const float* dy, float* dx,
                       std::int64_t count);

// Compute bias_gradient[c] += Σ_rows dy[row, c]. Rows are added in order within fixed chunks.
void sum_rows(ThreadPool& pool, const float* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns,
              float* bias_gradient);

// Arguments of y = dropout(x) + residual for x [rows, columns]; y may be x or the residual. The backward pass
// applies the same function to dy.
struct Dropout {
  // The draw of (row, column) is value column % 8 of Philox(key, (sequence_index[row], position[row],
  // column / 8)), so it does not depend on how rows are batched.
  RandomKey key;
  // probability of dropping an element; the other elements are scaled as in dropout_draw.h
  float rate = 0.0f;
  const std::uint64_t* sequence_index = nullptr;  // [rows]
  const std::int32_t* position = nullptr;         // [rows]
  const float* x = nullptr;
  const float* residual = nullptr;  // [rows, columns] or null
  float* y = nullptr;
  std::int64_t rows = 0, columns = 0;
};
void dropout(ThreadPool& pool, const Dropout& problem);

// Compute y[row] = factor · table[ids[row]]. The caller must check the ids.
void embedding(ThreadPool& pool, const float* table, const std::int32_t* ids, std::int64_t rows,
               std::int64_t columns, float factor, float* y);
// Compute table_gradient[ids[row]] += factor · dy[row]. The rows of each id are added in order.
void embedding_backward(ThreadPool& pool, const float* dy, const std::int32_t* ids, std::int64_t rows,
                        std::int64_t columns, std::int64_t vocabulary, float factor, float* table_gradient);

// Compute loss [rows], the cross-entropy of each row of logits [rows, classes], and lse [rows]. With label
// smoothing s, as in PyTorch, the loss is (1 − s) · (−log p_target) + s · mean over classes of −log p. Rows
// whose target is ignore_index have loss 0 and gradient 0.
void cross_entropy(ThreadPool& pool, const float* logits, const std::int32_t* targets, std::int64_t rows,
                   std::int64_t classes, float label_smoothing, std::int32_t ignore_index, float* loss,
                   float* lse);
// Compute gradient = factor · (softmax − smoothed one-hot). The gradient and the logits may be the same
// array.
void cross_entropy_backward(ThreadPool& pool, const float* logits, const float* lse,
                            const std::int32_t* targets, std::int64_t rows, std::int64_t classes,
                            float label_smoothing, std::int32_t ignore_index, float factor,
                            float* logits_gradient);

// Rotate the first `rotary_dim` features of each head of x [rows, heads × head_dim] in place (Su et al.
// 2021); `inverse` rotates back, for the backward pass. The pairs are (2i, 2i + 1) if `interleaved`, else (i,
// i + rotary_dim / 2); cosine and sine are [positions, rotary_dim / 2].
void rotary(ThreadPool& pool, float* x, std::int64_t stride, std::int64_t rows, std::int64_t heads,
            std::int64_t head_dim, std::int64_t rotary_dim, const std::int32_t* position, const float* cosine,
            const float* sine, bool interleaved, bool inverse);

// One step of torch.optim.AdamW (Loshchilov and Hutter 2019) over `count` weights in one pass. Options are
// double, because in f32, 1 − 0.999 has a relative error of 1e-5.
struct AdamW {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  double gradient_scale;            // factor of the gradient, from clipping
  double correction1, correction2;  // bias corrections: 1 − beta1^t and 1 − beta2^t
};
void adamw(ThreadPool& pool, const AdamW& step, float* weight, const float* gradient, float* first,
           float* second, std::int64_t count);

// Return the sum of squares in double over fixed chunks. Used for the gradient norm and to detect values that
// are not finite.
double sum_of_squares(ThreadPool& pool, const float* x, std::int64_t count);

}  // namespace regard::kernels
