#include "ops/activation.h"

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct ActivationNode : Tape::Node {
  Var x;
  kernels::Activation activation;
  static void backward(ActivationNode& node, Tape& tape) {
    Var out = tape.consume(node.out);
    float* dy = out->gradient.f32();
    kernels::activate_backward(tape.pool(), node.activation, node.x->value.f32(), dy, dy,
                               out->value.elements());
    tape.pass_gradient(out, node.x);
  }
};

}  // namespace

Var activate(Tape& tape, Var x, kernels::Activation activation) {
  require_contiguous("activation", "x", x);
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  kernels::activate(tape.pool(), activation, x->value.f32(), out->value.f32(), x->value.elements());
  if (wanted) tape.record(ActivationNode{{.out = out}, x, activation});
  return out;
}

}  // namespace regard::ops
