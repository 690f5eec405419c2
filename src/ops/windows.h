// Windows of consecutive tokens as rows, so that linear() with the weight of torch.nn.Conv1d, viewed as
// [out, features × width], computes a convolution over time without padding between the sequences.
#pragma once

#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// x [tokens, features] of the batch `shape` → [tokens, features × width]: element f · width + k of token t is
// feature f of token t − left + k of the same sequence, 0 outside of it. left = (width − 1) / 2, rounded
// down, gives Conv1d's padding = "same", left = width − 1 a causal convolution. Throws usage unless width ≥ 1
// and 0 ≤ left < width. `shape` must stay valid until the backward pass.
Var windows(Tape& tape, Var x, const Ragged& shape, std::int64_t width, std::int64_t left);

}  // namespace regard::ops
