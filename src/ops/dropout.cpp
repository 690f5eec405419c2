#include "ops/dropout.h"

#include "kernels/rows.h"
#include "ops/add.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct Draws {
  RandomKey key;
  float rate;
  const std::uint64_t* sequence_index;
  const std::int32_t* position;
};

void apply(ThreadPool& pool, const Draws& draws, const Tensor& shape, const float* x, float* y) {
  kernels::dropout(pool, draws.key, draws.rate, draws.sequence_index, draws.position, x, y, shape.rows(),
                   shape.columns());
}

struct DropoutNode : Tape::Node {
  Var x, residual, out;
  Draws draws;
  static void backward(DropoutNode& node, Tape& tape) {
    if (!node.out->gradient_started) return;
    float* dy = node.out->gradient.f32();
    if (node.residual == nullptr) {
      apply(tape.pool(), node.draws, node.out->value, dy, dy);
      tape.pass_gradient(node.out, node.x);
      return;
    }
    if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr) {
      if (!dx.accumulate) {
        apply(tape.pool(), node.draws, node.out->value, dy, dx.data);
      } else {
        float* dropped = tape.arena().tensor(node.out->value.shape()).f32();
        apply(tape.pool(), node.draws, node.out->value, dy, dropped);
        kernels::axpy(tape.pool(), 1.0f, dropped, dx.data, node.out->value.elements());
      }
    }
    tape.pass_gradient(node.out, node.residual);
  }
};

void check(Var x, const Ragged& shape, const DropoutOptions& options) {
  require_contiguous("dropout", "x", x);
  if (!(options.rate >= 0.0f && options.rate < 1.0f))
    throw usage_error("dropout: the rate must lie in [0, 1)").found(std::to_string(options.rate));
  if (shape.tokens() != x->value.rows() ||
      static_cast<std::int64_t>(shape.positions.size()) != x->value.rows() ||
      static_cast<std::int64_t>(shape.sequence_index.size()) != x->value.rows())
    throw shape_error("dropout", "the batch has " + std::to_string(shape.tokens()) + " tokens", {{"x", x}});
}

Var run(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options) {
  check(x, shape, options);
  const bool wanted = tape.wanted({x, residual});
  Var out = tape.make(x->value.shape(), wanted);
  const Draws draws{tape.key(options.place), options.rate, shape.sequence_index.data(),
                    shape.positions.data()};
  float* y = out->value.f32();
  apply(tape.pool(), draws, out->value, x->value.f32(), y);
  if (residual != nullptr) kernels::add(tape.pool(), residual->value.f32(), y, y, out->value.elements());
  if (wanted) {
    DropoutNode node;
    node.x = x, node.residual = residual, node.out = out, node.draws = draws;
    tape.record(node);
  }
  return out;
}

bool acts(const Tape& tape, const DropoutOptions& options) {
  return tape.options().training && options.rate != 0.0f;
}

}  // namespace

Var dropout(Tape& tape, Var x, const Ragged& shape, const DropoutOptions& options) {
  return acts(tape, options) ? run(tape, x, nullptr, shape, options) : x;
}

Var dropout_add(Tape& tape, Var x, Var residual, const Ragged& shape, const DropoutOptions& options) {
  if (!acts(tape, options)) return add(tape, x, residual);
  require_contiguous("dropout", "residual", residual);
  if (!(x->value.shape() == residual->value.shape()))
    throw shape_error("dropout", "x and the residual must have one shape",
                      {{"x", x}, {"residual", residual}});
  return run(tape, x, residual, shape, options);
}

}  // namespace regard::ops
