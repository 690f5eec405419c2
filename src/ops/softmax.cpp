#include "ops/softmax.h"

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

using Forward = void (*)(ThreadPool&, const float* x, float* y, std::int64_t rows, std::int64_t columns);
using Backward = void (*)(ThreadPool&, const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns);

struct SoftmaxNode : Tape::Node {
  Var x;
  Backward kernel;
  static void backward(SoftmaxNode& node, Tape& tape) {
    const Tensor& y = node.out->value;
    Var out = tape.consume(node.out);
    float* dy = out->gradient.f32();
    node.kernel(tape.pool(), y.f32(), dy, dy, y.rows(), y.columns());
    tape.pass_gradient(out, node.x);
  }
};

Var softmax_rows(Tape& tape, std::string_view operation, Var x, Forward forward, Backward backward) {
  require_contiguous(operation, "x", x);
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  forward(tape.pool(), x->value.f32(), out->value.f32(), x->value.rows(), x->value.columns());
  if (wanted) tape.record(SoftmaxNode{{.out = out}, x, backward});
  return out;
}

}  // namespace

Var softmax(Tape& tape, Var x) {
  return softmax_rows(tape, "softmax", x, kernels::softmax, kernels::softmax_backward);
}

Var log_softmax(Tape& tape, Var x) {
  return softmax_rows(tape, "log_softmax", x, kernels::log_softmax, kernels::log_softmax_backward);
}

}  // namespace regard::ops
