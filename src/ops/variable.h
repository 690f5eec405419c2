// Variable: a value with its gradient. Operations take and return variables.
#pragma once

#include "regard/tensor.h"

namespace regard {

class Tape;

// Variables of activations are stored in the tape's arena; a Parameter contains its own.
struct Variable {
  Tensor value;
  Tensor gradient;  // defined once a backward function wrote to it (parameters: always, if trainable)
  bool needs_gradient = false;
  bool gradient_started = false;  // the next writer must add, not assign
  // True if the tape may recycle the memory after its last use.
  bool owns_value = false, owns_gradient = false;
};
using Var = Variable*;

}  // namespace regard
