#include "ops/weighted_sum.h"

#include <algorithm>
#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

constexpr std::int64_t kPiece = 4096;  // elements per task

struct WeightedSumNode : Tape::Node {
  Var weights;
  std::span<Var> parts;
  std::span<float> shares;  // softmax(weights)
  static void backward(WeightedSumNode& node, Tape& tape);
};

// Call body(begin, end) for pieces of `count` elements.
template <class Body>
void for_pieces(ThreadPool& pool, std::int64_t count, Body&& body) {
  pool.parallel_for((count + kPiece - 1) / kPiece, [&](std::int64_t piece, int) {
    body(piece * kPiece, std::min((piece + 1) * kPiece, count));
  });
}

double inner_product_of(const float* a, const float* b, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// With shares s, and d[i] the dot product of parts[i] and the gradient of the result, the gradient of
// weights[i] is s[i] (d[i] − Σ_j s[j] d[j]).
void WeightedSumNode::backward(WeightedSumNode& node, Tape& tape) {
  const float* dy = node.out->gradient.f32();
  const std::int64_t elements = node.out->value.elements(), count = std::ssize(node.parts);
  if (float* gradient = tape.accumulated(node.weights); gradient != nullptr) {
    const std::span<double> products = tape.arena().array<double>(node.parts.size());
    tape.pool().parallel_for(count, [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      products[at] = inner_product_of(dy, node.parts[at]->value.f32(), elements);
    });
    double mean = 0.0;
    for (std::size_t i = 0; i < products.size(); ++i)
      mean += static_cast<double>(node.shares[i]) * products[i];
    for (std::size_t i = 0; i < products.size(); ++i)
      gradient[i] += static_cast<float>(static_cast<double>(node.shares[i]) * (products[i] - mean));
  }
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    float* const dx = tape.accumulated(node.parts[i]);
    if (dx == nullptr) continue;
    for_pieces(tape.pool(), elements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) dx[e] += node.shares[i] * dy[e];
    });
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
  const float* w = weights->value.f32();
  const float most = *std::max_element(w, w + shares.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < shares.size(); ++i) sum += shares[i] = std::exp(w[i] - most);
  for (float& share : shares) share = static_cast<float>(share / sum);
  bool wanted = tape.wanted({weights});
  for (Var part : parts) wanted = wanted || tape.wanted({part});
  Var out = tape.make(parts[0]->value.shape(), wanted);
  for_pieces(tape.pool(), out->value.elements(), [&](std::int64_t begin, std::int64_t end) {
    float* y = out->value.f32();
    std::fill(y + begin, y + end, 0.0f);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const float* x = parts[i]->value.f32();
      for (std::int64_t e = begin; e < end; ++e) y[e] += shares[i] * x[e];
    }
  });
  if (wanted) tape.record(WeightedSumNode{{.out = out}, weights, tape.arena().copied(parts), shares});
  return out;
}

}  // namespace regard::ops
