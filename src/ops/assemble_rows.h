// Assemble a matrix from the rows of several matrices.
#pragma once

#include <span>

#include "ops/tape.h"

namespace regard::ops {

// Row r of `part` becomes row places[r] of the result.
struct PlacedRows {
  Var part = nullptr;
  std::span<const std::int32_t> places;
};

// → [rows, features]. Every row of the result must have exactly one place: throws usage if the number of
// places differs, invalid_input if one is outside. The spans must stay valid until the backward pass.
Var assemble_rows(Tape& tape, std::span<const PlacedRows> parts, std::int64_t rows);

}  // namespace regard::ops
