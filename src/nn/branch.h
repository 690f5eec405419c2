// The end of a residual branch of a block: its last linear layer, norm, dropout and residual sum.
#pragma once

#include <string>

#include "base/namespaces.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/dropout.h"
#include "ops/ragged.h"

namespace regard::nn {

struct BranchEnd {
  Var residual = nullptr;         // may be null
  const Ragged* shape = nullptr;  // shape of the batch, on which the dropout mask depends
  ops::DropoutOptions dropout;
  // prefix of probe points; POINT.output is the branch after its norm, before dropout
  std::string_view point;
  const Norm* norm = nullptr;  // norm of the branch, before dropout (Gemma 2); may be null
};

// Return residual + dropout(norm(linear(x))). The sum is fused into the linear layer if there is no norm, no
// active dropout, and no probe that requests or may replace the branch's output.
Var end_branch(Tape& tape, const Linear& linear, Var x, const BranchEnd& end);

// end_branch_of() does the same as end_branch() for any last layer: last(residual) returns the layer's
// output, plus the residual if it is not null. sums_in_last_layer() and after_last_layer() are its steps.
bool sums_in_last_layer(Tape& tape, const BranchEnd& end);
Var after_last_layer(Tape& tape, Var branch, const BranchEnd& end);
template <class Last>
Var end_branch_of(Tape& tape, const BranchEnd& end, Last&& last) {
  if (sums_in_last_layer(tape, end)) return last(end.residual);
  return after_last_layer(tape, last(nullptr), end);
}

// Return the probe's replacement of `value` at POINT.WHAT, or `value` if there is none. Report the returned
// value of the whole batch to the tape's probe if the probe requests it. Throws usage if the replacement has
// another shape.
Var show(Tape& tape, std::string_view point, std::string_view what, Var value);

}  // namespace regard::nn
