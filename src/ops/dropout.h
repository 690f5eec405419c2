// Dropout (Srivastava et al. 2014), scaled at training time. Active only if the tape is in training mode and
// rate > 0.
#pragma once

#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

struct DropoutOptions {
  float rate = 0.0f;        // probability of a zero, in [0, 1)
  std::uint32_t place = 0;  // place_of(module name); the key of the draws is (seed, step, place)
};

// Apply dropout to x [tokens, features] of the batch `shape` in place and return x. The operation that made x
// must not read the value of x in its backward pass, except to test which elements are zero (relu), and no
// other operation may use x. An element's draw is keyed by its sequence's index in the global batch, its
// position and its feature, so it does not depend on the layout of the batch. `shape` must stay valid until
// the backward pass.
Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options);

// Return residual + dropout(x). If dropout is active, x is overwritten, with the requirements above.
Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options);

}  // namespace regard::ops
