// Mean or maximum over the tokens of each sequence.
#pragma once

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// Return the mean over each sequence's tokens, summed in order: [sequences, features] for x [tokens,
// features] of the batch `shape`. A sequence without tokens gives zeros.
Var mean_over_time(Tape& tape, Var x, const Ragged& shape);

// Return the maximum over each sequence's tokens (Collobert et al. 2011; Kim 2014); only the first token that
// has the maximum receives the gradient. The maximum of values that include a NaN is NaN, as in PyTorch. A
// sequence without tokens gives zeros.
Var max_over_time(Tape& tape, Var x, const Ragged& shape);

}  // namespace regard::ops
