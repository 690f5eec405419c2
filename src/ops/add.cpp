#include "ops/add.h"

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct AddNode : Tape::Node {
  Var a, b;
  static void backward(AddNode& node, Tape& tape) {
    tape.add_gradient(node.out, node.b);
    tape.pass_gradient(tape.consume(node.out), node.a);
  }
};

}  // namespace

Var add(Tape& tape, Var a, Var b) {
  require_contiguous("add", "a", a);
  require_contiguous("add", "b", b);
  if (!(a->value.shape() == b->value.shape()))
    throw shape_error("add", "the shapes differ", {{"a", a}, {"b", b}}).expected("equal shapes");
  const bool wanted = tape.wanted({a, b});
  Var out = tape.make(a->value.shape(), wanted);
  kernels::add(tape.pool(), a->value.f32(), b->value.f32(), out->value.f32(), a->value.elements());
  if (wanted) tape.record(AddNode{{.out = out}, a, b});
  return out;
}

}  // namespace regard::ops
