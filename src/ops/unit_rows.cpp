#include "ops/unit_rows.h"

#include <cmath>

#include "ops/check.h"
#include "ops/inner_product.h"

namespace regard::ops {
namespace {

struct UnitRowsNode : Tape::Node {
  Var x;
  const float* lengths;
  // dx = (dy − y (y · dy)) / |x|
  static void backward(UnitRowsNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.x);
    if (gradient == nullptr) return;
    const std::int64_t features = node.x->value.columns();
    tape.pool().parallel_for(node.x->value.rows(), [&](std::int64_t row, int) {
      const float *y = node.out->value.row(row), *dy = node.out->gradient.row(row);
      const auto along = static_cast<float>(inner_product(y, dy, features));
      float* dx = gradient + row * features;
      for (std::int64_t i = 0; i < features; ++i) dx[i] += (dy[i] - y[i] * along) / node.lengths[row];
    });
  }
};

}  // namespace

Var unit_rows(Tape& tape, Var x) {
  require_matrix("unit_rows", "x", x);
  require_contiguous("unit_rows", "x", x);
  const std::int64_t rows = x->value.rows(), features = x->value.columns();
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  float* lengths = tape.arena().tensor({rows}).f32();
  tape.pool().parallel_for(rows, [&](std::int64_t row, int) {
    const float* from = x->value.row(row);
    float* to = out->value.row(row);
    lengths[row] = static_cast<float>(std::sqrt(inner_product(from, from, features)));
    for (std::int64_t i = 0; i < features; ++i) to[i] = from[i] / lengths[row];
  });
  if (wanted) tape.record(UnitRowsNode{{.out = out}, x, lengths});
  return out;
}

}  // namespace regard::ops
