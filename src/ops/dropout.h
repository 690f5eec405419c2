// Dropout (Srivastava et al. 2014), scaled at training time. It acts only where the tape trains and rate > 0.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

struct DropoutOptions {
  float rate = 0.0f;        // in [0, 1): the probability of a zero
  std::uint32_t place = 0;  // place_of(the module's name): together with seed and step it keys the draws
};

// x [tokens, features] of the batch `shape`, in place: x is returned, and its value from before is gone. So x
// must have been made by an operation that does not need its value on the way back or, like relu, needs only
// to know where it is zero; and nobody else may use it. An element's draw is named by its sequence's index in
// the global batch, its position and its feature, so it does not depend on how the batch is laid out.
Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options);

// residual + dropout(x), in the memory of x, which is gone as above.
Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options);

}  // namespace regard::ops
