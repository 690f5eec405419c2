// Gather rows from two tables.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [out, features] whose row r is first[rows[r]] if rows[r] < m, else second[rows[r] − m]. A row's
// gradient is the sum over the indices that select it. first: [m, features]; second: [n, features]; rows:
// [out], which must stay valid until the backward pass.
Var join_rows(Tape& tape, Var first, Var second, std::span<const std::int32_t> rows);

}  // namespace regard::ops
