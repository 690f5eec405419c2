// Dot products of every row of one matrix with every row of another.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return a bᵀ [m, n] for a [m, features] and b [n, features].
Var row_products(Tape& tape, Var a, Var b);

}  // namespace regard::ops
