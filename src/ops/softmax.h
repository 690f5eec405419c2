// Softmax and log-softmax along the last dimension of contiguous x. For a row of −∞, softmax returns zeros
// and log_softmax returns −∞.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

Var softmax(Tape& tape, Var x);
Var log_softmax(Tape& tape, Var x);

}  // namespace regard::ops
