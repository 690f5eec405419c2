// Softmax and its logarithm along the last dimension. A row of −∞ gives zeros.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

Var softmax(Tape& tape, Var x);
Var log_softmax(Tape& tape, Var x);

}  // namespace regard::ops
