#include "ops/weight_norm.h"

#include <cmath>

#include "kernels/partition.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct WeightNormNode : Tape::Node {
  Var v, g;
  const double* norm;  // [kernel]
  static void backward(WeightNormNode& node, Tape& tape);
};

}  // namespace

Var weight_norm(Tape& tape, Var v, Var g) {
  require_contiguous("weight norm", "v", v);
  require_contiguous("weight norm", "g", g);
  const std::int64_t kernel = v->value.columns(), rows = v->value.rows();
  if (g->value.elements() != kernel)
    throw shape_error("weight norm", "g has a wrong number of elements", {{"v", v}, {"g", g}})
        .expected(std::to_string(kernel) + " elements, one for each column of v");
  const bool wanted = tape.wanted({v, g});
  Var out = tape.make(v->value.shape(), wanted);
  const std::span<double> norm = tape.arena().array<double>(static_cast<std::size_t>(kernel));
  for (double& sum : norm) sum = 0;
  const float* values = v->value.f32();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < kernel; ++k) {
      const auto x = static_cast<double>(values[r * kernel + k]);
      norm[static_cast<std::size_t>(k)] += x * x;
    }
  for (double& sum : norm) sum = std::sqrt(sum);
  kernels::for_rows(tape.pool(), rows, kernel, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * kernel; i < end * kernel; ++i)
      out->value.f32()[i] =
          static_cast<float>(static_cast<double>(g->value.f32()[i % kernel]) *
                             static_cast<double>(values[i]) / norm[static_cast<std::size_t>(i % kernel)]);
  });
  if (wanted) {
    WeightNormNode node{};
    node.v = v, node.g = g, node.out = out, node.norm = norm.data();
    tape.record(node);
  }
  return out;
}

namespace {

// Backward pass, where dv is the gradient of v (and so on), and p[k] is the sum of dw ∘ v over column k:
//   dg = p / norm;  dv = g / norm · (dw − v · p / norm²)
void WeightNormNode::backward(WeightNormNode& node, Tape& tape) {
  const std::int64_t kernel = node.v->value.columns(), elements = node.v->value.elements();
  const float* dw = node.out->gradient.f32();
  const float* v = node.v->value.f32();
  const std::span<double> products = tape.arena().array<double>(static_cast<std::size_t>(kernel));
  for (double& sum : products) sum = 0;
  for (std::int64_t i = 0; i < elements; ++i)
    products[static_cast<std::size_t>(i % kernel)] += static_cast<double>(dw[i]) * static_cast<double>(v[i]);
  const Tape::Gradient dv = tape.gradient(node.v);
  for (std::int64_t i = 0; dv.data != nullptr && i < elements; ++i) {
    const auto k = static_cast<std::size_t>(i % kernel);
    const double norm = node.norm[k], g = static_cast<double>(node.g->value.f32()[k]);
    const double value =
        g / norm * (static_cast<double>(dw[i]) - static_cast<double>(v[i]) * products[k] / (norm * norm));
    dv.data[i] = static_cast<float>(value) + (dv.accumulate ? dv.data[i] : 0.0f);
  }
  if (float* dg = tape.accumulated(node.g))
    for (std::int64_t k = 0; k < kernel; ++k)
      dg[k] += static_cast<float>(products[static_cast<std::size_t>(k)] / node.norm[k]);
}

}  // namespace
}  // namespace regard::ops
