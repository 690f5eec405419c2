// Compare an operation on the tape with its reference implementation: value and gradients on random inputs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/tape.h"
#include "support/namespaces.h"

namespace regard::testing {

using Numbers = std::vector<double>;

struct OperationCase {
  std::string name;
  std::vector<Shape> inputs;
  // The operation under test; its inputs have gradients.
  std::function<Var(Tape&, std::span<const Var>)> operation;
  // The reference implementation in double; the same inputs, flattened.
  std::function<Numbers(std::span<const Numbers>)> plain;
  double input_scale = 1.0;
  bool training = false;
  double tolerance = 1e-5;           // tolerance of the value, relative to max(1, largest magnitude)
  double gradient_tolerance = 1e-4;  // tolerance of gradients, relative to max(0.1, largest magnitude)
  std::size_t samples = 60;          // number of elements per input whose gradients are compared
};

// Fail the current test if
// - the f32 value differs from the reference,
// - a gradient differs from central differences of the reference (in double, at `samples` elements),
// - a gradient accumulated onto a start value differs from start value plus assigned gradient by more than
//   rounding,
// - the value or the gradient of an input changes if no other input needs a gradient,
// - the result needs a gradient although no input needs one,
// - the bits differ between one thread and three.
void check_operation(const OperationCase& operation, std::uint64_t seed);

}  // namespace regard::testing
