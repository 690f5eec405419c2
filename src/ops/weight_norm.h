// Weight normalisation (Salimans and Kingma 2016) along the last dimension, as torch's weight_norm with
// dim = 2 for the weight of a 1-D convolution: w[.., k] = g[k] · v[.., k] / ‖v[.., k]‖, where the norm is
// over all other dimensions.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// v [.., kernel], g with `kernel` elements → v's shape. Throws usage for shapes that do not fit.
Var weight_norm(Tape& tape, Var v, Var g);

}  // namespace regard::ops
