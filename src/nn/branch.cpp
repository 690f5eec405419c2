#include "nn/branch.h"

#include "ops/add.h"

namespace regard::nn {

void show(Tape& tape, std::string_view point, std::string_view what, Var value) {
  if (tape.probe == nullptr || point.empty()) return;
  const std::string name = std::string(point) + "." + std::string(what);
  if (tape.probe->wants(name)) tape.probe->see(name, -1, value->value);
}

Var end_branch(Tape& tape, const Linear& linear, Var x, const BranchEnd& end) {
  const bool drops = tape.options().training && end.dropout.rate > 0.0f;
  const bool observed = tape.probe != nullptr && !end.point.empty();
  if (!drops && !observed && end.norm == nullptr) {
    Linear::Options options;
    options.residual = end.residual;
    return linear.forward(tape, x, options);
  }
  Var branch = linear.forward(tape, x);
  if (end.norm != nullptr) branch = end.norm->forward(tape, branch);
  show(tape, end.point, "output", branch);
  if (end.residual == nullptr) return ops::dropout(tape, branch, *end.shape, end.dropout);
  return ops::dropout_add(tape, branch, end.residual, *end.shape, end.dropout);
}

}  // namespace regard::nn
