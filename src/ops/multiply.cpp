#include "ops/multiply.h"

#include "kernels/rows.h"
#include "ops/bf16_store.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

// Add out.gradient ∘ other to the gradient of `to`.
void send(Tape& tape, Var out, Var other, Var to) {
  const Tape::Gradient target = tape.gradient(to);
  if (target.data == nullptr) return;
  const float* dy = out->gradient.f32();
  const std::int64_t count = out->value.elements();
  if (is_bf16(other)) return multiply_stored(tape, dy, other->value, target);
  if (target.accumulate)
    kernels::multiply_add(tape.pool(), dy, other->value.f32(), target.data, count);
  else
    kernels::multiply(tape.pool(), dy, other->value.f32(), target.data, count);
}

struct MultiplyNode : Tape::Node {
  Var a, b;
  static void backward(MultiplyNode& node, Tape& tape) {
    send(tape, node.out, node.b, node.a);
    send(tape, node.out, node.a, node.b);
  }
};

}  // namespace

Var multiply(Tape& tape, Var a, Var b) {
  const bool stored = reads_bf16(tape, a) && reads_bf16(tape, b);
  if (!stored) {
    require_contiguous("multiply", "a", a);
    require_contiguous("multiply", "b", b);
  }
  if (!(a->value.shape() == b->value.shape()))
    throw shape_error("multiply", "the shapes differ", {{"a", a}, {"b", b}}).expected("equal shapes");
  const bool wanted = tape.wanted({a, b});
  Var out = stored ? make_bf16(tape, a->value.shape(), wanted) : tape.make(a->value.shape(), wanted);
  if (stored)
    multiply_stored(tape, a->value, b->value, out->value);
  else
    kernels::multiply(tape.pool(), a->value.f32(), b->value.f32(), out->value.f32(), a->value.elements());
  if (wanted) tape.record(MultiplyNode{{.out = out}, a, b});
  return out;
}

}  // namespace regard::ops
