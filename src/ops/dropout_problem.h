// Arguments of the dropout kernel, for operations that include dropout.
#pragma once

#include "kernels/rows.h"
#include "ops/dropout.h"

namespace regard::ops {

// Whether dropout changes values in this pass.
bool drops(const Tape& tape, const DropoutOptions& options);

// The kernel's arguments for dropout of a matrix [shape.tokens(), columns], without its data pointers. Throws
// usage for a rate outside [0, 1) and for a batch without positions or indices of its tokens.
kernels::Dropout dropout_problem(const Tape& tape, std::int64_t columns, const Ragged& shape,
                                 const DropoutOptions& options);

}  // namespace regard::ops
