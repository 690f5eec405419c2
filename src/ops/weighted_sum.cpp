#include "ops/weighted_sum.h"

#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/inner_product.h"

namespace regard::ops {
namespace {

struct WeightedSumNode : Tape::Node {
  Var weights;
  std::span<Var> parts;
  std::span<float> shares;  // softmax(weights)
  static void backward(WeightedSumNode& node, Tape& tape);
};

// With shares s, and d[i] the dot product of parts[i] and the gradient of the result, the gradient of
// weights[i] is s[i] (d[i] − Σ_j s[j] d[j]).
void WeightedSumNode::backward(WeightedSumNode& node, Tape& tape) {
  const float* dy = node.out->gradient.f32();
  const std::int64_t elements = node.out->value.elements(), count = std::ssize(node.parts);
  if (float* gradient = tape.accumulated(node.weights); gradient != nullptr) {
    const std::span<double> products = tape.arena().array<double>(node.parts.size());
    tape.pool().parallel_for(count, [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      products[at] = inner_product(dy, node.parts[at]->value.f32(), elements);
    });
    double mean = 0.0;
    for (std::size_t i = 0; i < products.size(); ++i)
      mean += static_cast<double>(node.shares[i]) * products[i];
    for (std::size_t i = 0; i < products.size(); ++i)
      gradient[i] += static_cast<float>(static_cast<double>(node.shares[i]) * (products[i] - mean));
  }
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    float* const dx = tape.accumulated(node.parts[i]);
    if (dx != nullptr) kernels::axpy(tape.pool(), node.shares[i], dy, dx, elements);
  }
}

}  // namespace

Var weighted_sum(Tape& tape, Var weights, std::span<const Var> parts) {
  if (parts.empty() || weights->value.elements() != std::ssize(parts))
    throw usage_error("weighted_sum: the number of weights is wrong")
        .found(std::to_string(weights->value.elements()))
        .expected(std::to_string(parts.size()));
  for (Var part : parts) {
    require_contiguous("weighted_sum", "parts", part);
    if (part->value.shape() != parts[0]->value.shape())
      throw usage_error("weighted_sum: the parts have different shapes");
  }
  const std::span<float> shares = tape.arena().array<float>(parts.size());
  kernels::softmax(tape.pool(), weights->value.f32(), shares.data(), 1, std::ssize(shares));
  bool wanted = tape.wanted({weights});
  for (Var part : parts) wanted = wanted || tape.wanted({part});
  Var out = tape.make(parts[0]->value.shape(), wanted);
  const std::int64_t elements = out->value.elements();
  kernels::scale(tape.pool(), parts[0]->value.f32(), shares[0], out->value.f32(), elements);
  for (std::size_t i = 1; i < parts.size(); ++i)
    kernels::axpy(tape.pool(), shares[i], parts[i]->value.f32(), out->value.f32(), elements);
  if (wanted) tape.record(WeightedSumNode{{.out = out}, weights, tape.arena().copied(parts), shares});
  return out;
}

}  // namespace regard::ops
