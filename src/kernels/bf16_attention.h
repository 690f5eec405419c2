// Attention in bf16, with the formula of attention.h and the dropout draws of attention_dropout.h. A result
// depends only on its own sequence, for any number of threads.
//
// Queries, keys, values and attention weights are rounded to bf16 for the products of bf16.h. The backward
// pass also rounds their gradients. Scores, softmax and sums are f32.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace regard::kernels {

// Operands stored as bf16, which replace the f32 pointers of Attention and have the same strides. Each
// pointer points to the first row of the batch; the keys of all sequences are concatenated.
struct Bf16Operands {
  const std::uint16_t* query = nullptr;
  const std::uint16_t* key = nullptr;
  const std::uint16_t* value = nullptr;
  std::uint16_t* out = nullptr;  // attention output with row stride out_stride; replaces Attention::out
};

// Return true if head_dim and value_dim are positive and the problem has no softcap, window, mask or bias.
// The functions below do not support these options.
bool bf16_attention_supports(const Attention& problem);

// Compute operands.out, and problem.lse unless it is null. A row's attention weights are divided by their sum
// only after the product with the values, as in Dao et al. 2022.
void bf16_attention_forward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands);

// Compute (overwrite) the gradients of queries, keys and values. Requires the forward pass's out and lse.
void bf16_attention_backward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands);

}  // namespace regard::kernels
