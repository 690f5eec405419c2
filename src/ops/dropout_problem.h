// Arguments of the dropout kernel, for operations that include dropout.
#pragma once

#include "base/namespaces.h"
#include "kernels/rows.h"
#include "ops/dropout.h"

namespace regard::ops {

// Return true if dropout is active: the tape is in training mode and the rate is not 0.
bool drops(const Tape& tape, const DropoutOptions& options);

// Return the kernel's arguments for dropout of a matrix [shape.tokens(), columns], without data pointers.
// Throws usage if the rate is outside [0, 1), or if `shape` has no positions or sequence indices.
kernels::Dropout dropout_problem(const Tape& tape, std::int64_t columns, const Ragged& shape,
                                 const DropoutOptions& options);

}  // namespace regard::ops
