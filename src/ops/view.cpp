#include "ops/view.h"

#include <algorithm>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct ReshapeNode : Tape::Node {
  Var x;
  static void backward(ReshapeNode& node, Tape& tape) { tape.pass_gradient(tape.consume(node.out), node.x); }
};

struct ColumnsNode : Tape::Node {
  Var x;
  std::int64_t first;
  static void backward(ColumnsNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.x);
    if (gradient == nullptr) return;
    const std::int64_t width = node.out->value.columns(), features = node.x->value.columns();
    for (std::int64_t r = 0; r < node.out->value.rows(); ++r)
      for (std::int64_t c = 0; c < width; ++c)
        gradient[r * features + node.first + c] += node.out->gradient.row(r)[c];
  }
};

}  // namespace

Var reshape(Tape& tape, Var x, Shape shape) {
  require_contiguous("reshape", "x", x);
  Var out = tape.input(x->value.reshape(shape), tape.wanted({x}));
  if (out->needs_gradient) tape.record(ReshapeNode{{.out = out}, x});
  return out;
}

Var columns(Tape& tape, Var x, std::int64_t first, std::int64_t width) {
  require_matrix("columns", "x", x);
  if (first < 0 || width < 0 || first + width > x->value.columns())
    throw shape_error("columns", "x has too few features for the range of columns", {{"x", x}})
        .expected("at least " + std::to_string(first + width) + " features");
  const bool wanted = tape.wanted({x});
  Var out = tape.make({x->value.rows(), width}, wanted);
  for (std::int64_t r = 0; r < x->value.rows(); ++r)
    std::copy_n(x->value.row(r) + first, width, out->value.row(r));
  if (wanted) tape.record(ColumnsNode{{.out = out}, x, first});
  return out;
}

}  // namespace regard::ops
