#include "ops/gated_linear_unit.h"

#include "ops/activation.h"
#include "ops/check.h"
#include "ops/multiply.h"
#include "ops/view.h"

namespace regard::ops {

Var gated_linear_unit(Tape& tape, Var x) {
  require_matrix("gated_linear_unit", "x", x);
  require_contiguous("gated_linear_unit", "x", x);
  if (x->value.columns() % 2 != 0)
    throw shape_error("gated_linear_unit", "x has an odd number of features", {{"x", x}})
        .expected("an even number of features");
  const std::int64_t features = x->value.columns() / 2;
  Var gate = activate(tape, columns(tape, x, features, features), kernels::Activation::sigmoid);
  return multiply(tape, columns(tape, x, 0, features), gate);
}

}  // namespace regard::ops
