// The end of a branch of a block: its last linear layer, dropout, and the sum with what the branch started
// from.
#pragma once

#include <string>

#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/dropout.h"

namespace regard::nn {

struct BranchEnd {
  Var residual = nullptr;         // null: nothing is added
  const Ragged* shape = nullptr;  // the batch, which names the dropout's draws
  ops::DropoutOptions dropout;
  std::string_view point;      // POINT.output is shown to a probe: the branch before dropout and sum
  const Norm* norm = nullptr;  // of the branch before dropout and sum (Gemma 2), or null
};

// residual + dropout(norm(linear(x))), in as few passes as it takes.
Var end_branch(Tape& tape, const Linear& linear, Var x, const BranchEnd& end);

// Tells the probe of a value of the whole batch, if there is a probe and it wants it.
void show(Tape& tape, std::string_view point, std::string_view what, Var value);

}  // namespace regard::nn
