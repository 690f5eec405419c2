// Rows of two tables in one order.
#pragma once

#include <span>

#include "ops/tape.h"

namespace regard::ops {

// first [m, features], second [n, features], rows [out] → [out, features]: row r is first[rows[r]] where
// rows[r] < m, else second[rows[r] − m]. A row may be taken several times; its gradient is then the sum.
// `rows` stays where it is until the backward pass.
Var join_rows(Tape& tape, Var first, Var second, std::span<const std::int32_t> rows);

}  // namespace regard::ops
