// Dot products and distances between row i of one matrix and row i of another.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return [rows, 1]: the dot product of row i of a and row i of b. a, b: [rows, features].
Var paired_products(Tape& tape, Var a, Var b);

// Return [rows, 1]: ‖a_i − b_i + 10⁻⁶‖, as in torch.nn.functional.pairwise_distance. a, b: [rows, features].
Var paired_distances(Tape& tape, Var a, Var b);

}  // namespace regard::ops
