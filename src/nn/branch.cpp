#include "nn/branch.h"

#include "ops/add.h"
#include "ops/replacing_probe.h"
#include "regard/error.h"

namespace regard::nn {

Var show(Tape& tape, std::string_view point, std::string_view what, Var value) {
  if (tape.probe == nullptr || point.empty()) return value;
  const std::string name = std::string(point) + "." + std::string(what);
  ReplacingProbe* replacing = replacing_probe(tape);
  Var used = replacing == nullptr ? value : replacing->replace(tape, name, value);
  if (used != value && !(used->value.shape() == value->value.shape()))
    throw usage_error("a probe replaced a value with a value of another shape")
        .at({name, -1, -1})
        .found(used->value.shape().text())
        .expected(value->value.shape().text());
  if (tape.probe->wants(name)) tape.probe->see(name, -1, used->value);
  return used;
}

namespace {

// Return true if the tape's probe requests or may replace the branch's output.
bool is_observed(Tape& tape, const BranchEnd& end) {
  if (tape.probe == nullptr || end.point.empty()) return false;
  const std::string name = std::string(end.point) + ".output";
  ReplacingProbe* replacing = replacing_probe(tape);
  return (replacing != nullptr && replacing->may_replace(name)) || tape.probe->wants(name);
}

}  // namespace

bool sums_in_last_layer(Tape& tape, const BranchEnd& end) {
  const bool drops = tape.options().training && end.dropout.rate > 0.0f;
  return !drops && end.norm == nullptr && !is_observed(tape, end);
}

Var after_last_layer(Tape& tape, Var branch, const BranchEnd& end) {
  if (end.norm != nullptr) branch = end.norm->forward(tape, branch);
  branch = show(tape, end.point, "output", branch);
  if (end.residual == nullptr) return ops::dropout(tape, branch, *end.shape, end.dropout);
  return ops::dropout_add(tape, branch, end.residual, *end.shape, end.dropout);
}

Var end_branch(Tape& tape, const Linear& linear, Var x, const BranchEnd& end) {
  return end_branch_of(tape, end, [&](Var residual) {
    Linear::Options options;
    options.residual = residual;
    return linear.forward(tape, x, options);
  });
}

}  // namespace regard::nn
