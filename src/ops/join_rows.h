// Gather rows from two tables.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [out, features] for first [m, features], second [n, features] and rows [out]. Row r of the result is
// first[rows[r]] if rows[r] < m, else second[rows[r] − m]. A row may be selected more than once; its gradient
// is the sum. `rows` must stay valid until the backward pass.
Var join_rows(Tape& tape, Var first, Var second, std::span<const std::int32_t> rows);

}  // namespace regard::ops
