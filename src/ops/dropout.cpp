#include "ops/dropout.h"

#include "kernels/rows.h"
#include "ops/add.h"
#include "ops/bf16_store.h"
#include "ops/check.h"
#include "ops/dropout_problem.h"

namespace regard::ops {
namespace {

void check(const Tape& tape, Var x, const Ragged& shape) {
  if (!reads_bf16(tape, x)) require_contiguous("dropout", "x", x);
  if (shape.tokens() != x->value.rows())
    throw shape_error("dropout", "x has a wrong number of rows", {{"x", x}})
        .expected(std::to_string(shape.tokens()) + " rows, one for each token of the batch");
}

void apply(Tape& tape, kernels::Dropout problem, const float* x, float* y, const float* residual = nullptr) {
  problem.x = x, problem.y = y, problem.residual = residual;
  kernels::dropout(tape.pool(), problem);
}

struct DropoutNode : Tape::Node {
  Var x;
  kernels::Dropout problem;
  static void backward(DropoutNode& node, Tape& tape) {
    if (!node.x->gradient_started) return;
    float* dx = node.x->gradient.f32();
    apply(tape, node.problem, dx, dx);
  }
};

struct DropoutAddNode : Tape::Node {
  Var x, residual;
  kernels::Dropout problem;
  static void backward(DropoutAddNode& node, Tape& tape) {
    const float* dy = node.out->gradient.f32();
    const Tape::Gradient dx = tape.gradient(node.x);
    if (dx.data != nullptr) apply(tape, node.problem, dy, dx.data, dx.accumulate ? dx.data : nullptr);
    tape.pass_gradient(tape.consume(node.out), node.residual);
  }
};

}  // namespace

bool drops(const Tape& tape, const DropoutOptions& options) {
  return tape.options().training && options.rate != 0.0f;
}

kernels::Dropout dropout_problem(const Tape& tape, std::int64_t columns, const Ragged& shape,
                                 const DropoutOptions& options) {
  if (!(options.rate >= 0.0f && options.rate < 1.0f))
    throw usage_error("dropout: the rate is out of range")
        .found(std::to_string(options.rate))
        .expected("at least 0 and less than 1");
  if (static_cast<std::int64_t>(shape.positions.size()) != shape.tokens() ||
      static_cast<std::int64_t>(shape.sequence_index.size()) != shape.tokens())
    throw usage_error("dropout: the positions or sequence indices do not match the tokens")
        .found(std::to_string(shape.positions.size()) + " positions and " +
               std::to_string(shape.sequence_index.size()) + " sequence indices")
        .expected(std::to_string(shape.tokens()) + " of each");
  kernels::Dropout problem;
  problem.key = tape.key(options.place);
  problem.rate = options.rate;
  problem.sequence_index = shape.sequence_index.data();
  problem.position = shape.positions.data();
  problem.rows = shape.tokens(), problem.columns = columns;
  return problem;
}

Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options) {
  if (!drops(tape, options)) return x;
  check(tape, x, shape);
  DropoutNode node;
  node.x = x, node.problem = dropout_problem(tape, x->value.columns(), shape, options);
  if (is_bf16(x)) {
    const TemporaryValues temporary(tape);
    float* values = widened(tape, x->value);
    apply(tape, node.problem, values, values);
    store_rounded(tape, values, x->value);
  } else {
    apply(tape, node.problem, x->value.f32(), x->value.f32());
  }
  if (tape.wanted({x})) tape.record(node);
  return x;
}

Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options) {
  if (!drops(tape, options)) return add(tape, x, residual);
  check(tape, x, shape);
  require_contiguous("dropout", "residual", residual);
  if (!(x->value.shape() == residual->value.shape()))
    throw shape_error("dropout", "x and the residual differ in shape", {{"x", x}, {"residual", residual}})
        .expected("equal shapes");
  const bool wanted = tape.wanted({x, residual});
  Var out = tape.alias(x, wanted);
  DropoutAddNode node;
  node.x = x, node.residual = residual, node.out = out;
  node.problem = dropout_problem(tape, x->value.columns(), shape, options);
  apply(tape, node.problem, x->value.f32(), out->value.f32(), residual->value.f32());
  if (wanted) tape.record(node);
  return out;
}

}  // namespace regard::ops
