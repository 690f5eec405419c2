// Similarity and distance of the rows of two matrices, pair by pair.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// a, b [rows, features] → [rows, 1]: the dot product of row i of a with row i of b.
Var paired_products(Tape& tape, Var a, Var b);

// a, b [rows, features] → [rows, 1]: ‖a − b + 10⁻⁶‖ of row i, as torch.nn.functional.pairwise_distance.
Var paired_distances(Tape& tape, Var a, Var b);

}  // namespace regard::ops
