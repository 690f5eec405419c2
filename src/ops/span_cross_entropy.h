// Cross-entropy over the tokens of each sequence: which token begins, and which ends, a span.
#pragma once

#include <span>

#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// logits [tokens, columns], labels [sequences × columns]: for each sequence and column the number of a token
// in the sequence, or `ignored` → scalar [1]:
//   factor × Σ over sequences and columns of −log softmax over the sequence's tokens (label)
// summed in order in double precision. A sequence's result does not depend on the others. `labels` and
// `shape` must stay valid until the backward pass.
Var span_cross_entropy(Tape& tape, Var logits, const Ragged& shape, std::span<const std::int32_t> labels,
                       float factor = 1.0f, std::int32_t ignored = -100);

}  // namespace regard::ops
