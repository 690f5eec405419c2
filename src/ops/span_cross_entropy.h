// Cross-entropy over the tokens of each sequence, used to predict which tokens begin and end a span.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a scalar [1], summed in order in double precision:
//   factor · Σ over sequences s and columns c of −log softmax(column c of the tokens of s)[label of s and c]
// logits: [tokens, columns]; labels: [sequences × columns], each the index of a token within the sequence, or
// `ignored`. A sequence's result does not depend on other sequences. `labels` and `shape` must stay valid
// until the backward pass.
Var span_cross_entropy(Tape& tape, Var logits, const Ragged& shape, std::span<const std::int32_t> labels,
                       float factor = 1.0f, std::int32_t ignored = -100);

}  // namespace regard::ops
