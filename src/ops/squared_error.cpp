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
    throw usage_error("squared_error: the targets and x differ in shape")
        .found("targets " + targets.shape().text())
        .expected(x->value.shape().text() + ", the shape of x");
  const Tensor negative = tape.arena().tensor(targets.shape());
  std::transform(targets.f32(), targets.f32() + targets.elements(), negative.f32(), std::negate<>());
  Var difference = add(tape, x, tape.constant(negative));
  return sum(tape, multiply(tape, difference, difference), factor);
}

}  // namespace regard::ops
