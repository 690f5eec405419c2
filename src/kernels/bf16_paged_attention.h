// Attention in bf16 for inference, with the formula of attention.h: the forward pass over keys and values in
// bf16 pages (bf16_pages.h). Queries and attention weights (before the division by their sum) are rounded to
// bf16 for the products of bf16.h; scores, softmax and sums are f32.
//
// Keys are processed in blocks of 32 from the sequence's first key, so the result of a query does not depend
// on the other queries in the call.
#pragma once

#include "kernels/attention.h"

namespace regard::kernels {

// Compute problem.out, and problem.lse unless it is null; dropout is ignored. Every sequence must have pages
// with `bf16` set.
void bf16_paged_attention(ThreadPool& pool, const Attention& problem);

}  // namespace regard::kernels
