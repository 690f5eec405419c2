// Windows of consecutive tokens as rows. A convolution over the tokens of each sequence is linear() of these
// rows; the weight of torch.nn.Conv1d is viewed as [out, features × width].
#pragma once

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [tokens, features × width] for x [tokens, features] of the batch `shape`. Element f · width + k of
// token t is feature f of token t − left + k, or 0 outside the sequence. With left = (width − 1) / 2, rounded
// down, padding is as in Conv1d with padding = "same". With left = width − 1, the convolution is causal.
// `shape` must stay valid until the backward pass. Throws usage unless width ≥ 1 and 0 ≤ left < width.
Var windows(Tape& tape, Var x, const Ragged& shape, std::int64_t width, std::int64_t left);

}  // namespace regard::ops
