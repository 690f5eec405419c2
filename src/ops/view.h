// Views and copies of parts of a variable: reshape, and selection of columns.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return contiguous x with another shape, without a copy. The number of elements must be the same.
Var reshape(Tape& tape, Var x, Shape shape);

// Return a contiguous copy [rows, width] of features [first, first + width) of x [rows, features].
Var columns(Tape& tape, Var x, std::int64_t first, std::int64_t width);

}  // namespace regard::ops
