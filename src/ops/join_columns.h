// Concatenate matrices along their features.
#pragma once

#include <initializer_list>
#include <span>

#include "ops/tape.h"

namespace regard::ops {

// Each part [rows, features of the part] → [rows, sum of the features], in order. No part may be null.
Var join_columns(Tape& tape, std::span<const Var> parts);
inline Var join_columns(Tape& tape, std::initializer_list<Var> parts) {
  return join_columns(tape, std::span<const Var>(parts.begin(), parts.size()));
}

}  // namespace regard::ops
