// The same numbers in another shape, and some columns of a matrix.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x, contiguous, seen as `shape`, which has as many elements. Nothing is copied.
Var reshape(Tape& tape, Var x, Shape shape);

// Features [first, first + width) of x [rows, features] → contiguous [rows, width].
Var columns(Tape& tape, Var x, std::int64_t first, std::int64_t width);

}  // namespace regard::ops
