// Replace features in single rows of a matrix, to test how a changed activation affects the model's output.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Replace features [begin, end) of row `row` with factor · x + offset; if `factor` is 0, the result is the
// offset even where x is NaN.
struct Edit {
  std::int64_t row = 0, begin = 0, end = 0;
  float factor = 0.0f;
  const float* offset = nullptr;  // [end − begin], used only during the call; null means zeros
};

// Return a copy of x [rows, features] (contiguous) with the edits applied in order. Elements outside of the
// edits are bit-identical. Throws usage if an edit is outside of x.
Var edit(Tape& tape, Var x, std::span<const Edit> edits);

}  // namespace regard::ops
