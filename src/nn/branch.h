// The end of a residual branch of a block: its last linear layer, norm, dropout and residual sum.
#pragma once

#include <string>

#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/dropout.h"
#include "ops/ragged.h"

namespace regard::nn {

struct BranchEnd {
  Var residual = nullptr;         // null if there is none
  const Ragged* shape = nullptr;  // the batch, which keys the dropout's draws
  ops::DropoutOptions dropout;
  std::string_view point;      // POINT.output for probes: the branch after the norm, before dropout and sum
  const Norm* norm = nullptr;  // norm of the branch before dropout and sum (Gemma 2), or null
};

// Return residual + dropout(norm(linear(x))). Without active dropout, probe and norm, the sum is fused into
// the linear layer.
Var end_branch(Tape& tape, const Linear& linear, Var x, const BranchEnd& end);

// The same with any last layer: last(residual) returns its output, plus the residual if that is not null.
bool sums_in_last_layer(const Tape& tape, const BranchEnd& end);
Var after_last_layer(Tape& tape, Var branch, const BranchEnd& end);
template <class Last>
Var end_branch_of(Tape& tape, const BranchEnd& end, Last&& last) {
  if (sums_in_last_layer(tape, end)) return last(end.residual);
  return after_last_layer(tape, last(nullptr), end);
}

// Report POINT.WHAT, a value of the whole batch, to the tape's probe if there is one that requests it. Return
// the variable to be used: `value`, or the one that the probe replaces it with. Throws usage if that has
// another shape.
Var show(Tape& tape, std::string_view point, std::string_view what, Var value);

}  // namespace regard::nn
