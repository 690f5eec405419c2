// Dropout (Srivastava et al. 2014). Kept values are scaled during training. Dropout is active only if the
// tape is in training mode and rate > 0.
#pragma once

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

struct DropoutOptions {
  float rate = 0.0f;  // probability that an element is dropped, in [0, 1)
  // hash of the module's name (place_of()); random draws have the key (seed, step, place)
  std::uint32_t place = 0;
};

// Apply dropout to x [tokens, features] of the batch `shape` in place, and return x. The operation that made
// x must not read the value of x in its backward pass, except to test which elements are zero (relu), and no
// other operation may use x. An element's draw depends on its sequence's index in the global batch, its
// position and its feature, but not on the layout of the batch. `shape` must stay valid until the backward
// pass.
Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options);

// Return residual + dropout(x). If dropout is active, x is overwritten, and the requirements of dropout()
// apply.
Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options);

}  // namespace regard::ops
