// Weight normalisation (Salimans and Kingma 2016) over the last dimension, like torch's weight_norm with dim
// = 2 for the weight of a 1-D convolution. w[.., k] = g[k] · v[.., k] / ‖v[.., k]‖. The norm is taken over
// all other dimensions.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return w with the shape of v. v: [.., kernel]; g: `kernel` elements. Throws usage if shapes do not match.
Var weight_norm(Tape& tape, Var v, Var g);

}  // namespace regard::ops
