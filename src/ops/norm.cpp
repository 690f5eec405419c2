#include "ops/norm.h"

#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/rows.h"
#include "ops/bf16_store.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct NormNode : Tape::Node {
  Var x, gain, bias;
  const float *mean, *inverse_deviation;
  bool rms;
  float gain_offset;
  static void backward(NormNode& node, Tape& tape);
};

// Compute y = norm(x), stored as bf16, in groups of rows that stay in cache until they are rounded.
void norm_stored(Tape& tape, const kernels::Norm& problem, std::uint16_t* y) {
  constexpr std::int64_t kValues = 1 << 17;
  const std::int64_t columns = problem.columns, step = std::max<std::int64_t>(1, kValues / columns);
  const TemporaryValues temporary(tape);
  kernels::Norm part = problem;
  part.y = tape.arena().tensor({std::min(step, problem.rows), columns}).f32();
  for (std::int64_t row = 0; row < problem.rows; row += step) {
    part.rows = std::min(step, problem.rows - row);
    part.x = problem.x + row * columns;
    if (problem.mean != nullptr) part.mean = problem.mean + row;
    if (problem.inverse_deviation != nullptr) part.inverse_deviation = problem.inverse_deviation + row;
    kernels::norm(tape.pool(), part);
    kernels::round_to_bf16(tape.pool(), part.y, y + row * columns, part.rows * columns);
  }
}

}  // namespace

Var norm(Tape& tape, Var x, Var gain, Var bias, const NormOptions& options) {
  require_contiguous("norm", "x", x);
  require_vector("norm", "gain", gain, x->value.columns());
  require_vector("norm", "bias", bias, x->value.columns());
  if (options.rms && bias != nullptr)
    throw shape_error("norm", "RMS norm cannot have a bias", {{"bias", bias}}).expected("no bias");
  const bool wanted = tape.wanted({x, gain, bias});
  const std::int64_t rows = x->value.rows();
  const bool stores = options.store_bf16 && stores_bf16(tape);
  Var out = stores ? make_bf16(tape, x->value.shape(), wanted) : tape.make(x->value.shape(), wanted);

  kernels::Norm problem;
  problem.rows = rows, problem.columns = x->value.columns();
  problem.epsilon = options.epsilon, problem.rms = options.rms, problem.gain_offset = options.gain_offset;
  problem.x = x->value.f32();
  problem.gain = gain != nullptr ? gain->value.f32() : nullptr;
  problem.bias = bias != nullptr ? bias->value.f32() : nullptr;
  if (wanted) {
    problem.mean = tape.arena().tensor({rows}).f32();
    problem.inverse_deviation = tape.arena().tensor({rows}).f32();
  }
  if (stores) {
    norm_stored(tape, problem, bf16_data(out->value));
  } else {
    problem.y = out->value.f32();
    kernels::norm(tape.pool(), problem);
  }

  if (wanted) {
    NormNode node;
    node.x = x, node.gain = gain, node.bias = bias, node.out = out;
    node.mean = problem.mean, node.inverse_deviation = problem.inverse_deviation;
    node.rms = options.rms, node.gain_offset = options.gain_offset;
    tape.record(node);
  }
  return out;
}

namespace {

void NormNode::backward(NormNode& node, Tape& tape) {
  const Tensor& x = node.x->value;
  kernels::NormBackward problem;
  problem.rows = x.rows(), problem.columns = x.columns();
  problem.rms = node.rms, problem.gain_offset = node.gain_offset;
  problem.x = x.f32();
  problem.gain = node.gain != nullptr ? node.gain->value.f32() : nullptr;
  problem.mean = node.mean, problem.inverse_deviation = node.inverse_deviation;
  problem.dy = node.out->gradient.f32();
  const Tape::Gradient dx = tape.gradient(node.x);
  // If only gain or bias needs a gradient, dx is written to a temporary buffer.
  problem.dx = dx.data != nullptr ? dx.data : tape.take(x.elements());
  problem.accumulate_dx = dx.data != nullptr && dx.accumulate;
  problem.gain_gradient = tape.accumulated(node.gain);
  problem.bias_gradient = tape.accumulated(node.bias);
  kernels::norm_backward(tape.pool(), problem);
  if (dx.data == nullptr) tape.recycle(problem.dx, x.elements());
}

}  // namespace
}  // namespace regard::ops
