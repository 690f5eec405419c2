#include "ops/softmax.h"

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

using Backward = void (*)(ThreadPool&, const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns);

struct SoftmaxNode : Tape::Node {
  Var x;
  Backward kernel;
  static void backward(SoftmaxNode& node, Tape& tape) {
    if (!node.out->gradient_started) return;
    Var out = tape.consume(node.out);
    float* dy = out->gradient.f32();
    const Tensor& y = node.out->value;
    node.kernel(tape.pool(), y.f32(), dy, dy, y.rows(), y.columns());
    tape.pass_gradient(out, node.x);
  }
};

void record(Tape& tape, Var x, Var out, Backward kernel) {
  SoftmaxNode node;
  node.x = x, node.out = out, node.kernel = kernel;
  tape.record(node);
}

}  // namespace

Var softmax(Tape& tape, Var x) {
  require_contiguous("softmax", "x", x);
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  kernels::softmax(tape.pool(), x->value.f32(), out->value.f32(), x->value.rows(), x->value.columns());
  if (wanted) record(tape, x, out, kernels::softmax_backward);
  return out;
}

Var log_softmax(Tape& tape, Var x) {
  require_contiguous("log_softmax", "x", x);
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  kernels::log_softmax(tape.pool(), x->value.f32(), out->value.f32(), x->value.rows(), x->value.columns());
  if (wanted) record(tape, x, out, kernels::log_softmax_backward);
  return out;
}

}  // namespace regard::ops
