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

// Return a matrix [rows, features] that contains the rows of all parts. Together, the `places` of the parts
// must contain each index in [0, rows) exactly once, and they must stay valid until the backward pass. Throws
// usage if the number of places is not `rows`, invalid_input if a place is out of range.
Var assemble_rows(Tape& tape, std::span<const PlacedRows> parts, std::int64_t rows);

}  // namespace regard::ops
