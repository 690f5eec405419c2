// a + b, element by element.
#pragma once

#include "ops/tape.h"

namespace regard::ops {

// Of one shape, contiguous. a and b may be the same.
Var add(Tape& tape, Var a, Var b);

}  // namespace regard::ops
