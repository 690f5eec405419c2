// Attention weights for probes: computed from the log-sum-exp of the fused kernel, reported, and replaced.
#pragma once

#include <string_view>

#include "kernels/attention.h"
#include "ops/tape.h"

namespace regard::ops {

// Return true if the tape's probe requests or replaces weights of the attention at `point`. The kernel must
// then store the log-sum-exp, and each sequence of the batch must be one of the problem's. Throws usage if
// weights are to be replaced while the tape records.
bool probes_weights(Tape& tape, std::string_view point, std::int64_t heads);

// Call after the forward pass. Heads whose weights the probe replaces are computed again as the sum of the
// values under these weights, accumulated in double in the order of the keys. The other heads are unchanged.
void probe_weights(Tape& tape, const kernels::Attention& problem, std::string_view point);

}  // namespace regard::ops
