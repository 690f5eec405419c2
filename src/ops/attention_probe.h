// Attention weights for probes: computed from the log-sum-exp of the fused kernel, reported, and replaced.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/attention.h"
#include "ops/tape.h"

namespace regard::ops {

// Return whether the tape's probe requests or replaces weights of the attention at `point`. The kernel must
// then store the log-sum-exp, and each sequence of the batch must be one of the problem's.
bool probes_weights(Tape& tape, std::string_view point, std::int64_t heads);

// A head whose weights a probe replaced in a pass that records: what its gradient needs. Arrays are [queries,
// keys], in the tape's arena.
struct ReplacedHead {
  std::int64_t sequence = 0, head = 0;
  const float* computed = nullptr;  // the weights before the replacement
  const float* used = nullptr;      // the weights that were applied to the values
  const float* slope = nullptr;     // d used / d computed, element by element
  const std::uint8_t* allowed = nullptr;
};

// Call after the forward pass. Heads whose weights the probe replaces are computed again as the sum of the
// values under these weights, accumulated in double in the order of the keys; the others are not touched.
// Return the replaced heads if the tape records, else nothing.
std::span<const ReplacedHead> probe_weights(Tape& tape, const kernels::Attention& problem,
                                            std::string_view point);

// Backward pass of an attention with replaced heads: kernels::attention_backward() for the other heads, and
// for these the gradients in double, in the order of sequences, heads, queries and keys. `problem` as for
// attention_backward().
void attention_backward(Tape& tape, kernels::Attention& problem, std::span<const ReplacedHead> replaced);

}  // namespace regard::ops
