// Cross-entropy over logits that are computed in blocks of classes. Each block is reduced while it is in
// cache. The blocks are combined in order, so the bits of a row's results depend only on the row. With m_b
// the largest logit of block b, s_b = Σ exp(x − m_b) over the block and m = max m_b, the log-sum-exp is
//   lse = m + log Σ_b s_b exp(m_b − m).
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace regard::kernels {

// Classes per block; the last block may be smaller. Changing this number changes the bits of results, because
// sums are combined per block.
constexpr std::int64_t kClassBlock = kPackedColumnStep;

constexpr std::int64_t class_blocks(std::int64_t classes) {
  return (classes + kClassBlock - 1) / kClassBlock;
}

// Rows of logits with statistics for each block of classes. A member described as a statistic is an array
// [blocks, rows].
struct BlockedLogits {
  std::int64_t rows = 0, classes = 0;
  const std::int32_t* targets = nullptr;
  std::int32_t ignore_index = 0;  // rows with this target have loss 0 and gradient 0
  float label_smoothing = 0.0f;   // defined as in PyTorch and in kernels/rows.h
  float factor = 1.0f;            // the gradient is factor · (softmax − smoothed one-hot)
  float* gradient = nullptr;      // gradient [rows, classes], which overwrites the logits; null if not needed
  // statistic m_b, the largest logit of the block; if the gradient is needed, finish_blocks() overwrites it
  // with factor · exp(m_b − lse)
  float* maximum = nullptr;
  float* sum = nullptr;           // statistic s_b = Σ exp(x − m_b)
  float* gap = nullptr;           // statistic Σ (m_b − x); used with label smoothing only
  float* target_logit = nullptr;  // [rows]
  float* loss = nullptr;          // [rows]
};

// Rows [begin, end) of one block of classes.
struct LogitsTile {
  std::int64_t block = 0, begin = 0, end = 0;
  // logits [end − begin, columns of the block]; if the gradient is needed, they are stored in
  // BlockedLogits::gradient
  float* logits = nullptr;
  std::int64_t stride = 0;
};

// Compute statistics and target logits; if the gradient is needed, replace each logit x with exp(x − m_b),
// where m_b is the block's largest logit in the row. Runs on the calling thread.
void summarise_block(const BlockedLogits& problem, const LogitsTile& tile);

// Compute the losses and, if problem.gradient is not null, the gradient. Requires that summarise_block() was
// called for all blocks.
void finish_blocks(ThreadPool& pool, const BlockedLogits& problem);

}  // namespace regard::kernels
