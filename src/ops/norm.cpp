#include "ops/norm.h"

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

void check(Var x, Var residual, Var gain, Var bias, const NormOptions& options) {
  require_contiguous("norm", "x", x);
  if (residual != nullptr) {
    require_contiguous("norm", "residual", residual);
    if (!(x->value.shape() == residual->value.shape()))
      throw shape_error("norm", "x and the residual must have the same shape",
                        {{"x", x}, {"residual", residual}});
  }
  require_vector("norm", "gain", gain, x->value.columns());
  require_vector("norm", "bias", bias, x->value.columns());
  if (options.rms && bias != nullptr) throw shape_error("norm", "RMS norm takes no bias", {{"bias", bias}});
}

struct NormNode : Tape::Node {
  Var x, residual, sum;  // without a residual, sum == x
  Var gain, bias;
  const float *mean, *inverse_deviation;
  bool rms;
  float gain_offset;
  static void backward(NormNode& node, Tape& tape);
};

AddNorm run(Tape& tape, Var x, Var residual, Var gain, Var bias, const NormOptions& options) {
  check(x, residual, gain, bias, options);
  const bool wanted = tape.wanted({x, residual, gain, bias});
  const std::int64_t rows = x->value.rows();
  Var sum = residual == nullptr ? x : tape.make(x->value.shape(), tape.wanted({x, residual}));
  Var out = tape.make(x->value.shape(), wanted);

  kernels::Norm problem;
  problem.rows = rows, problem.columns = x->value.columns();
  problem.epsilon = options.epsilon, problem.rms = options.rms, problem.gain_offset = options.gain_offset;
  problem.x = x->value.f32();
  if (residual != nullptr) problem.residual = residual->value.f32(), problem.sum = sum->value.f32();
  problem.gain = gain != nullptr ? gain->value.f32() : nullptr;
  problem.bias = bias != nullptr ? bias->value.f32() : nullptr;
  problem.y = out->value.f32();
  if (wanted) {
    problem.mean = tape.arena().tensor({rows}).f32();
    problem.inverse_deviation = tape.arena().tensor({rows}).f32();
  }
  kernels::norm(tape.pool(), problem);

  if (wanted) {
    NormNode node;
    node.x = x, node.residual = residual, node.sum = sum;
    node.gain = gain, node.bias = bias, node.out = out;
    if (residual != nullptr) node.other_out = sum;
    node.mean = problem.mean, node.inverse_deviation = problem.inverse_deviation;
    node.rms = options.rms, node.gain_offset = options.gain_offset;
    tape.record(node);
  }
  return {sum, out};
}

// The gradient of the sum is the gradient from its other consumers plus the gradient through the norm. x and
// the residual both receive it.
void NormNode::backward(NormNode& node, Tape& tape) {
  if (node.out->gradient_started) {
    const Tensor& sum = node.sum->value;
    kernels::NormBackward problem;
    problem.rows = sum.rows(), problem.columns = sum.columns();
    problem.rms = node.rms, problem.gain_offset = node.gain_offset;
    problem.x = sum.f32();
    problem.gain = node.gain != nullptr ? node.gain->value.f32() : nullptr;
    problem.mean = node.mean, problem.inverse_deviation = node.inverse_deviation;
    problem.dy = node.out->gradient.f32();
    const Tape::Gradient dx = tape.gradient(node.sum);
    // If only gain or bias need a gradient, dx is written to a temporary buffer.
    problem.dx = dx.data != nullptr ? dx.data : tape.take(sum.elements());
    problem.accumulate_dx = dx.data != nullptr && dx.accumulate;
    problem.gain_gradient = tape.accumulated(node.gain);
    problem.bias_gradient = tape.accumulated(node.bias);
    kernels::norm_backward(tape.pool(), problem);
    if (dx.data == nullptr) tape.recycle(problem.dx, sum.elements());
  }
  if (node.residual == nullptr || !node.sum->gradient_started) return;
  tape.add_gradient(node.sum, node.residual);
  tape.pass_gradient(tape.consume(node.sum), node.x);
}

}  // namespace

Var norm(Tape& tape, Var x, Var gain, Var bias, const NormOptions& options) {
  return run(tape, x, nullptr, gain, bias, options).normed;
}

AddNorm add_norm(Tape& tape, Var x, Var residual, Var gain, Var bias, const NormOptions& options) {
  if (residual == nullptr) throw shape_error("norm", "the residual is absent", {{"x", x}});
  return run(tape, x, residual, gain, bias, options);
}

}  // namespace regard::ops
