// Convert between [tokens, heads × size] and [heads, tokens, size]. ops::attention does not need this; it is
// for processing heads separately.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

Var split_heads(Tape& tape, Var x, std::int64_t heads);  // x [tokens, heads × size] → [heads, tokens, size]
Var merge_heads(Tape& tape, Var x);  // x [heads, tokens, size] → [tokens, heads × size]

}  // namespace regard::ops
