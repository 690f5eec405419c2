// Variable: a value and its gradient. Operations take and return variables.
#pragma once

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::ops {

class Tape;

// Variables of activations are stored in the tape's arena. A Parameter contains its own Variable.
struct Variable {
  Tensor value;
  // defined after a backward function has written it; always defined for trainable parameters
  Tensor gradient;
  bool needs_gradient = false;
  bool gradient_started = false;  // the gradient has a value: the next writer must add to it
  // True if the tape may recycle the memory of `value` or `gradient` after its last use.
  bool owns_value = false, owns_gradient = false;
};
using Var = Variable*;

}  // namespace regard::ops
