// Attention in bf16 for inference (kernels/bf16_paged_attention.h), with attention weights for probes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/namespaces.h"
#include "kernels/attention.h"
#include "ops/tape.h"

namespace regard::ops {

// Round the keys and values of the sequences and copy them to bf16 pages in the tape's arena, as a cache
// stores them. The pages replace `key` and `value`.
void copy_to_bf16_pages(Tape& tape, const kernels::Attention& problem,
                        std::span<kernels::AttentionSequence> sequences);

// Compute problem.out; all sequences must have bf16 pages. If `probed` is true, compute the attention weights
// in f32 from the rounded queries and keys, and report them to the probe; problem.lse must then be set.
void bf16_attention(Tape& tape, const kernels::Attention& problem, bool probed, std::string_view point);

}  // namespace regard::ops
