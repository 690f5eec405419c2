// Assemble a matrix from the rows of several matrices.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Row r of `part` becomes row places[r] of the result.
struct PlacedRows {
  Var part = nullptr;
  std::span<const std::int32_t> places;
};

// Return [rows, features]. Every row of the result must be given exactly once. Throws usage if the number of
// places is not `rows`, invalid_input if a place is out of range. The spans must stay valid until the
// backward pass.
Var assemble_rows(Tape& tape, std::span<const PlacedRows> parts, std::int64_t rows);

}  // namespace regard::ops
