// factor · x.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

Var scale(Tape& tape, Var x, float factor);  // x must be contiguous

// x [tokens, heads × size], contiguous: multiply head h by factors[h], for example 0 to ablate a head. A head
// with factor 1 stays bit-identical. The factors are copied.
Var scale_heads(Tape& tape, Var x, std::span<const float> factors);

}  // namespace regard::ops
