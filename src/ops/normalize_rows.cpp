#include "ops/normalize_rows.h"

#include <algorithm>
#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

constexpr float kLeast = 1e-12f;

float norm_of(const float* row, std::int64_t features) {
  double sum = 0;
  for (std::int64_t i = 0; i < features; ++i)
    sum += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return std::max(static_cast<float>(std::sqrt(sum)), kLeast);
}

struct NormalizeNode : Tape::Node {
  Var x;
  // With y = x / n: dx = (dy − y (y · dy)) / n, or dy / n if n is kLeast.
  static void backward(NormalizeNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.x);
    if (gradient == nullptr) return;
    const std::int64_t features = node.x->value.columns();
    for (std::int64_t r = 0; r < node.x->value.rows(); ++r) {
      const float norm = norm_of(node.x->value.row(r), features);
      const float *y = node.out->value.row(r), *g = node.out->gradient.row(r);
      double dot = 0;
      for (std::int64_t i = 0; i < features && norm > kLeast; ++i)
        dot += static_cast<double>(y[i]) * static_cast<double>(g[i]);
      for (std::int64_t i = 0; i < features; ++i)
        gradient[r * features + i] += (g[i] - y[i] * static_cast<float>(dot)) / norm;
    }
  }
};

}  // namespace

Var normalize_rows(Tape& tape, Var x) {
  require_matrix("normalize_rows", "x", x);
  require_contiguous("normalize_rows", "x", x);
  const std::int64_t features = x->value.columns();
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  for (std::int64_t r = 0; r < x->value.rows(); ++r) {
    const float* row = x->value.row(r);
    const float norm = norm_of(row, features);
    for (std::int64_t i = 0; i < features; ++i) out->value.row(r)[i] = row[i] / norm;
  }
  if (wanted) tape.record(NormalizeNode{{.out = out}, x});
  return out;
}

}  // namespace regard::ops
