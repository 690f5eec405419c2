// Attention in bf16 (the formula is that of attention.h): queries, keys, values, weights and, in the backward
// pass, their gradients are rounded to bf16 for the products of bf16.h; scores, softmax and sums are f32. A
// row's weights are divided by their sum after the product with the values, as in Dao et al. 2022. Results
// depend only on the row's own sequence, for any number of threads.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace regard::kernels {

// Operands in bf16, with the strides of Attention, whose f32 pointers to them are not used. The sequences'
// keys are concatenated; the pointers are to the first row of the batch.
struct Bf16Operands {
  const std::uint16_t* query = nullptr;
  const std::uint16_t* key = nullptr;
  const std::uint16_t* value = nullptr;
  std::uint16_t* out = nullptr;  // stride out_stride; instead of Attention::out
};

// Whether the problem has none of softcap, window, mask, bias and dropout, which these functions do not have.
bool bf16_attention_supports(const Attention& problem);

// Set operands.out and problem.lse (null: not needed).
void bf16_attention_forward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands);

// Requires out and lse of the forward pass. Assigns the gradients of queries, keys and values.
void bf16_attention_backward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands);

}  // namespace regard::kernels
