// a + b, element by element.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// a and b must be contiguous and have the same shape. They may be the same variable.
Var add(Tape& tape, Var a, Var b);

}  // namespace regard::ops
