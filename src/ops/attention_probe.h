// Recompute attention weights from the log-sum-exp of the fused kernel, report them to the tape's probe, and
// apply the weights that the probe replaces.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/namespaces.h"
#include "kernels/attention.h"
#include "ops/tape.h"

namespace regard::ops {

// Return true if the tape's probe requests or replaces attention weights at the probe point `point`. The
// caller must then allocate kernels::Attention::lse and must not merge sequences of the batch.
bool probes_weights(Tape& tape, std::string_view point, std::int64_t heads);

// The values that the backward pass requires for a head whose attention weights a probe replaced. Arrays are
// [queries, keys], in the tape's arena.
struct ReplacedHead {
  std::int64_t sequence = 0, head = 0;
  const float* computed = nullptr;  // the attention weights before the replacement
  const float* used = nullptr;      // the attention weights that were applied to the values
  const float* slope = nullptr;     // element-wise derivative of `used` with respect to `computed`
  const std::uint8_t* allowed = nullptr;
};

// Report attention weights to the probe after the forward pass. If the probe replaces the weights of a head,
// recompute the head's output: sums in double precision, in the order of the keys. Other heads are unchanged.
// Return the replaced heads if the tape records, otherwise an empty span.
std::span<const ReplacedHead> probe_weights(Tape& tape, const kernels::Attention& problem,
                                            std::string_view point);

// Run the backward pass of attention. kernels::attention_backward(`problem`) computes all heads except the
// replaced ones. The gradients of replaced heads are computed in double precision, in the order of sequences,
// heads, queries and keys.
void attention_backward(Tape& tape, kernels::Attention& problem, std::span<const ReplacedHead> replaced);

}  // namespace regard::ops
