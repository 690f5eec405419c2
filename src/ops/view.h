// Reshape, and selection of columns.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// View contiguous x as `shape`, which must have the same number of elements. No copy.
Var reshape(Tape& tape, Var x, Shape shape);

// Copy features [first, first + width) of x [rows, features] → contiguous [rows, width].
Var columns(Tape& tape, Var x, std::int64_t first, std::int64_t width);

}  // namespace regard::ops
