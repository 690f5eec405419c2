// factor · x.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

Var scale(Tape& tape, Var x, float factor);  // contiguous

// x [tokens, heads × size]: head h times factors[h], how a head is silenced without touching the others. A
// factor of one leaves every bit as it was.
Var scale_heads(Tape& tape, Var x, std::span<const float> factors);

}  // namespace regard::ops
