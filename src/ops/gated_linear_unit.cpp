#include "ops/gated_linear_unit.h"

#include <cstring>

#include "kernels/partition.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct GatedLinearUnitNode : Tape::Node {
  Var x;
  const float* gate;  // σ(b) [rows, features]
  static void backward(GatedLinearUnitNode& node, Tape& tape);
};

}  // namespace

Var gated_linear_unit(Tape& tape, Var x) {
  require_matrix("gated_linear_unit", "x", x);
  require_contiguous("gated_linear_unit", "x", x);
  if (x->value.columns() % 2 != 0)
    throw shape_error("gated_linear_unit", "x has an odd number of features", {{"x", x}})
        .expected("an even number of features");
  const std::int64_t rows = x->value.rows(), features = x->value.columns() / 2;
  const bool wanted = tape.wanted({x});
  Var out = tape.make({rows, features}, wanted);
  float* const gate = wanted ? tape.arena().tensor({rows, features}).f32() : out->value.f32();
  kernels::for_rows(tape.pool(), rows, features, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      std::copy_n(x->value.row(r) + features, features, gate + r * features);
  });
  kernels::activate(tape.pool(), kernels::Activation::sigmoid, gate, gate, rows * features);
  kernels::for_rows(tape.pool(), rows, features, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float *a = x->value.row(r), *g = gate + r * features;
      float* const y = out->value.row(r);
      for (std::int64_t c = 0; c < features; ++c) y[c] = a[c] * g[c];
    }
  });
  if (wanted) tape.record(GatedLinearUnitNode{{.out = out}, x, gate});
  return out;
}

namespace {

// With g = σ(b): da = dy g, db = dy a g (1 − g).
void GatedLinearUnitNode::backward(GatedLinearUnitNode& node, Tape& tape) {
  const Tape::Gradient dx = tape.gradient(node.x);
  if (dx.data == nullptr) return;
  const Tensor& dy = node.out->gradient;
  const std::int64_t rows = node.out->value.rows(), features = node.out->value.columns();
  kernels::for_rows(tape.pool(), rows, 2 * features, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float *a = node.x->value.row(r), *g = node.gate + r * features, *slope = dy.f32() + r * features;
      float *const da = dx.data + r * 2 * features, *const db = da + features;
      if (!dx.accumulate) std::fill_n(da, 2 * features, 0.0f);
      for (std::int64_t c = 0; c < features; ++c) {
        da[c] += slope[c] * g[c];
        db[c] += slope[c] * a[c] * g[c] * (1.0f - g[c]);
      }
    }
  });
}

}  // namespace
}  // namespace regard::ops
