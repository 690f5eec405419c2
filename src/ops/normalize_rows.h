// Division of each row by its Euclidean norm, as torch.nn.functional.normalize.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// x [rows, features] → x / max(‖x‖, 10⁻¹²) of each row.
Var normalize_rows(Tape& tape, Var x);

}  // namespace regard::ops
