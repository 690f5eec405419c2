// Multiplication by a constant factor.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

Var scale(Tape& tape, Var x, float factor);  // return factor · x; x must be contiguous

// Multiply head h of x [tokens, heads × size] (contiguous) by factors[h]; 0 ablates a head, and a head
// with factor 1 is unchanged. The factors are copied.
Var scale_heads(Tape& tape, Var x, std::span<const float> factors);

}  // namespace regard::ops
