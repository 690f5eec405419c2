// Dropout (Srivastava et al. 2014), active only if the tape is in training mode and rate > 0. Values that are
// not dropped are multiplied by 1 / (1 − rate), with the rate rounded to a multiple of 1/65536.
#pragma once

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

struct DropoutOptions {
  float rate = 0.0f;  // probability that an element is dropped, in [0, 1)
  // Hash of the module's name (place_of()). An element's random draw depends on seed, step, place, sequence
  // (index in the global batch), position and feature; it does not depend on the layout of the batch.
  std::uint32_t place = 0;
};

// Apply dropout to x [tokens, features] of the batch `shape` in place, and return x. `shape` must stay valid
// until the backward pass. No other operation may have used x. The operation that computed x must not read
// the value of x in its backward pass; a test for zero elements (relu) is allowed.
Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options);

// Return residual + dropout(x). If dropout is active, x is overwritten, and the requirements of dropout()
// apply.
Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options);

}  // namespace regard::ops
