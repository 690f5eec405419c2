#include "ops/row_pairs.h"

#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

constexpr float kShift = 1e-6f;  // parameter eps of torch's pairwise_distance

struct PairNode : Tape::Node {
  Var a, b;
  bool distance;
  // With g the gradient of the result, the gradients of the dot product a · b are g b for a and g a for b.
  // The gradients of the distance d = ‖a − b + ε‖ are g (a − b + ε) / d for a, and the negative for b.
  static void backward(PairNode& node, Tape& tape) {
    float *of_a = tape.accumulated(node.a), *of_b = tape.accumulated(node.b);
    const std::int64_t features = node.a->value.columns();
    for (std::int64_t r = 0; r < node.a->value.rows(); ++r) {
      const float *a = node.a->value.row(r), *b = node.b->value.row(r);
      const float g = node.out->gradient.f32()[r], d = node.out->value.f32()[r];
      const float scaled = d > 0.0f ? g / d : 0.0f;
      for (std::int64_t i = 0; i < features; ++i) {
        const float difference = scaled * (a[i] - b[i] + kShift);
        if (of_a != nullptr) of_a[r * features + i] += node.distance ? difference : g * b[i];
        if (of_b != nullptr) of_b[r * features + i] += node.distance ? -difference : g * a[i];
      }
    }
  }
};

Var compare_pairs(Tape& tape, Var a, Var b, bool distance) {
  const char* name = distance ? "paired_distances" : "paired_products";
  for (Var one : {a, b}) {
    require_matrix(name, one == a ? "a" : "b", one);
    require_contiguous(name, one == a ? "a" : "b", one);
  }
  if (!(a->value.shape() == b->value.shape()))
    throw shape_error(name, "a and b differ in shape", {{"a", a}, {"b", b}}).expected("equal shapes");
  const bool wanted = tape.wanted({a, b});
  Var out = tape.make({a->value.rows(), 1}, wanted);
  for (std::int64_t r = 0; r < a->value.rows(); ++r) {
    const float *x = a->value.row(r), *y = b->value.row(r);
    double sum = 0;
    for (std::int64_t i = 0; i < a->value.columns(); ++i) {
      const auto difference = static_cast<double>(x[i] - y[i] + kShift);
      sum += distance ? difference * difference : static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    out->value.f32()[r] = static_cast<float>(distance ? std::sqrt(sum) : sum);
  }
  if (wanted) tape.record(PairNode{{.out = out}, a, b, distance});
  return out;
}

}  // namespace

Var paired_products(Tape& tape, Var a, Var b) {
  return compare_pairs(tape, a, b, false);
}

Var paired_distances(Tape& tape, Var a, Var b) {
  return compare_pairs(tape, a, b, true);
}

}  // namespace regard::ops
