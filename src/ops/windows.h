// Windows of consecutive tokens as rows. linear(), applied to these rows with the weight of torch.nn.Conv1d
// viewed as [out, features × width], computes a convolution over time that does not cross sequences.
#pragma once

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [tokens, features × width] for x [tokens, features] of the batch `shape`, which must stay valid
// until the backward pass. Element f · width + k of token t is feature f of token t − left + k, or 0 outside
// the sequence; left = (width − 1) / 2, rounded down, is Conv1d's padding = "same", and left = width − 1
// makes the convolution causal. Throws usage unless width ≥ 1 and 0 ≤ left < width.
Var windows(Tape& tape, Var x, const Ragged& shape, std::int64_t width, std::int64_t left);

}  // namespace regard::ops
