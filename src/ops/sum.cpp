#include "ops/sum.h"

#include "ops/check.h"

namespace regard::ops {
namespace {

struct SumNode : Tape::Node {
  Var x, y;
  float factor;

  static void backward(SumNode& node, Tape& tape) {
    if (!node.y->gradient_started) return;
    const float share = node.factor * node.y->gradient.f32()[0];
    const Tape::Gradient dx = tape.gradient(node.x);
    for (std::int64_t i = 0; i < node.x->value.elements(); ++i)
      dx.data[i] = dx.accumulate ? dx.data[i] + share : share;
  }
};

}  // namespace

Var sum(Tape& tape, Var x, float factor) {
  require_contiguous("sum", "x", x);
  const bool wanted = tape.wanted({x});
  Var y = tape.make({1}, wanted);
  double total = 0;
  for (std::int64_t i = 0; i < x->value.elements(); ++i) total += static_cast<double>(x->value.f32()[i]);
  y->value.f32()[0] = static_cast<float>(total) * factor;
  if (wanted) tape.record(SumNode{{}, x, y, factor});
  return y;
}

}  // namespace regard::ops
