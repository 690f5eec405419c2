// Concatenate matrices along their features.
#pragma once

#include <initializer_list>
#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Concatenate parts [rows, features of the part] to [rows, sum of the features]. No part may be null.
Var join_columns(Tape& tape, std::span<const Var> parts);
inline Var join_columns(Tape& tape, std::initializer_list<Var> parts) {
  return join_columns(tape, std::span<const Var>(parts.begin(), parts.size()));
}

}  // namespace regard::ops
