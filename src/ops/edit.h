// Changes of single rows and features of a matrix, for interventions.
#pragma once

#include <span>

#include "ops/tape.h"

namespace regard::ops {

// Features [begin, end) of row `row` become factor · x + offset. With factor 0 they become the offset,
// whatever x is (also NaN).
struct Edit {
  std::int64_t row = 0, begin = 0, end = 0;
  float factor = 0.0f;
  const float* offset = nullptr;  // [end − begin], used only during the call; null means zeros
};

// x [rows, features], contiguous → a copy of x with the edits, applied in order. Elements outside of them
// keep their bits. Throws usage for an edit outside of x.
Var edit(Tape& tape, Var x, std::span<const Edit> edits);

}  // namespace regard::ops
