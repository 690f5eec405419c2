// Weight normalisation (Salimans and Kingma 2016) with one gain g[k] for each index k of the last dimension:
//   w[.., k] = g[k] · v[.., k] / ‖v[.., k]‖
// where the norm is taken over all dimensions except the last. For the weight of a 1-D convolution, this is
// torch's weight_norm with dim = 2.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return w with the shape of v. v: [.., kernel]; g: `kernel` elements. Throws usage if shapes do not match.
Var weight_norm(Tape& tape, Var v, Var g);

}  // namespace regard::ops
