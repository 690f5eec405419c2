// Between [tokens, heads × size] and [heads, tokens, size]. Attention itself needs neither: these are for
// whoever wants to look at heads one by one.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

Var split_heads(Tape& tape, Var x, std::int64_t heads);  // x [tokens, heads × size] → [heads, tokens, size]
Var merge_heads(Tape& tape, Var x);  // x [heads, tokens, size] → [tokens, heads × size]

}  // namespace regard::ops
