// Cross-entropy of logits that are computed a block of classes at a time, each block summarised while it is
// near: log-sum-exp over blocks in order, so that a row's bits depend on the row only.
//
// With m_b the largest logit of block b and s_b = Σ exp(x − m_b): lse = m + log Σ_b s_b exp(m_b − m).
// PyTorch's definition of label smoothing, as kernels/rows.h has it.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace regard::kernels {

// Classes in a block; the last one may be smaller. Part of the meaning: sums are joined block by block.
constexpr std::int64_t kClassBlock = kPackedColumnStep;

constexpr std::int64_t class_blocks(std::int64_t classes) {
  return (classes + kClassBlock - 1) / kClassBlock;
}

// Rows and what is known of their logits. `statistic` arrays are [blocks, rows].
struct BlockedLogits {
  std::int64_t rows = 0, classes = 0;
  const std::int32_t* targets = nullptr;
  std::int32_t ignore_index = 0;  // a row with this target: loss 0, gradient 0
  float label_smoothing = 0.0f;
  float factor = 1.0f;            // of the gradient
  float* gradient = nullptr;      // [rows, classes], in place of the logits; null: not wanted
  float* maximum = nullptr;       // statistic; becomes the gradient's factor
  float* sum = nullptr;           // statistic
  float* gap = nullptr;           // statistic: Σ (m_b − x); used with label smoothing only
  float* target_logit = nullptr;  // [rows]
  float* loss = nullptr;          // [rows]
};

// Rows [begin, end) of one block of classes.
struct LogitsTile {
  std::int64_t block = 0, begin = 0, end = 0;
  float* logits =
      nullptr;  // [end − begin, columns of the block]; with a gradient wanted, where it will stand
  std::int64_t stride = 0;
};

// Statistics and target logits; with a gradient wanted x becomes exp(x − m_b). On the calling thread.
void summarise_block(const BlockedLogits& problem, const LogitsTile& tile);

// When all blocks are summarised: losses, and the gradient where it is wanted.
void finish_blocks(ThreadPool& pool, const BlockedLogits& problem);

}  // namespace regard::kernels
