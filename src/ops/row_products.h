// Dot products of every row of one matrix with every row of another.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// a [m, features], b [n, features] → a bᵀ [m, n].
Var row_products(Tape& tape, Var a, Var b);

}  // namespace regard::ops
