#include "ops/scale.h"

#include "base/counted.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct ScaleNode : Tape::Node {
  Var x;
  float factor;
  static void backward(ScaleNode& node, Tape& tape) {
    Var out = tape.consume(node.out);
    float* dy = out->gradient.f32();
    kernels::scale(tape.pool(), dy, node.factor, dy, node.out->value.elements());
    tape.pass_gradient(out, node.x);
  }
};

// Compute y[row, h, ·] = x[row, h, ·] · factors[h]. y and x may be the same array.
void times_heads(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t size,
                 std::span<const float> factors) {
  const auto heads = static_cast<std::int64_t>(factors.size());
  pool.parallel_for(rows, [&](std::int64_t row, int) {
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t at = (row * heads + h) * size + i;
        y[at] = x[at] * factors[static_cast<std::size_t>(h)];
      }
  });
}

struct ScaleHeadsNode : Tape::Node {
  Var x;
  std::span<const float> factors;
  static void backward(ScaleHeadsNode& node, Tape& tape) {
    Var out = tape.consume(node.out);
    float* dy = out->gradient.f32();
    const std::int64_t size = node.out->value.columns() / static_cast<std::int64_t>(node.factors.size());
    times_heads(tape.pool(), dy, dy, node.out->value.rows(), size, node.factors);
    tape.pass_gradient(out, node.x);
  }
};

}  // namespace

Var scale(Tape& tape, Var x, float factor) {
  require_contiguous("scale", "x", x);
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  kernels::scale(tape.pool(), x->value.f32(), factor, out->value.f32(), x->value.elements());
  if (wanted) tape.record(ScaleNode{{.out = out}, x, factor});
  return out;
}

Var scale_heads(Tape& tape, Var x, std::span<const float> factors) {
  require_matrix("scale_heads", "x", x);
  require_contiguous("scale_heads", "x", x);
  const auto heads = static_cast<std::int64_t>(factors.size());
  if (heads == 0 || x->value.columns() % heads != 0)
    throw usage_error("scale_heads: the number of heads does not divide the number of features")
        .found(counted(heads, "head"))
        .expected("a divisor of " + std::to_string(x->value.columns()));
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  const std::span<float> kept = tape.arena().copied(factors);
  times_heads(tape.pool(), x->value.f32(), out->value.f32(), x->value.rows(), x->value.columns() / heads,
              kept);
  if (wanted) tape.record(ScaleHeadsNode{{.out = out}, x, kept});
  return out;
}

}  // namespace regard::ops
