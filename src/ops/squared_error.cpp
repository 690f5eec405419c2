#include "ops/squared_error.h"

#include <algorithm>
#include <functional>

#include "ops/add.h"
#include "ops/check.h"
#include "ops/multiply.h"
#include "ops/sum.h"

namespace regard::ops {

Var squared_error(Tape& tape, Var x, const Tensor& targets, float factor) {
  require_contiguous("squared_error", "x", x);
  if (!(x->value.shape() == targets.shape()))
    throw shape_error("squared_error", "the targets " + targets.shape().text() + " must have the shape of x",
                      {{"x", x}});
  const Tensor negative = tape.arena().tensor(targets.shape());
  std::transform(targets.f32(), targets.f32() + targets.elements(), negative.f32(), std::negate<>());
  Var difference = add(tape, x, tape.constant(negative));
  return sum(tape, multiply(tape, difference, difference), factor);
}

}  // namespace regard::ops
