// Holds an operation on the tape to its plain version: value and gradients, over random numbers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/tape.h"

namespace regard::testing {

using Numbers = std::vector<double>;

struct OperationCase {
  std::string name;
  std::vector<Shape> inputs;
  // The operation; inputs have gradients.
  std::function<Var(Tape&, std::span<const Var>)> operation;
  // The specification in double; inputs as the operation's, flat.
  std::function<Numbers(std::span<const Numbers>)> plain;
  double input_scale = 1.0;
  bool training = false;
  double tolerance = 1e-5;           // of the value, relative to max(1, largest)
  double gradient_tolerance = 1e-4;  // relative to max(0.1, largest) of the gradient
  std::size_t samples = 60;          // elements of each input at which gradients are compared
};

// Fails the current test where
// - the f32 value differs from the plain one,
// - a gradient differs from central differences of the plain version (in double, at some elements),
// - gradients that start from something do not add to it exactly as the assigned ones plus rounding,
// - one thread and three do not give the same bits.
void check_operation(const OperationCase& operation, std::uint64_t seed);

}  // namespace regard::testing
