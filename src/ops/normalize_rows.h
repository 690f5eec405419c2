// L2 normalisation of rows, the same as torch.nn.functional.normalize.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

// Return x / max(‖x‖, 10⁻¹²) for each row of x [rows, features].
Var normalize_rows(Tape& tape, Var x);

}  // namespace regard::ops
