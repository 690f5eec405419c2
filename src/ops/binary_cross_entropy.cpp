#include "ops/binary_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct BinaryCrossEntropyNode : Tape::Node {
  Var logits;
  const float* targets;
  float factor;
  // d/dx = σ(x) − y
  static void backward(BinaryCrossEntropyNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.logits);
    if (gradient == nullptr) return;
    const float scale = node.factor * node.out->gradient.f32()[0];
    const float* x = node.logits->value.f32();
    for (std::int64_t i = 0; i < node.logits->value.elements(); ++i)
      gradient[i] += scale * (1.0f / (1.0f + std::exp(-x[i])) - node.targets[i]);
  }
};

}  // namespace

Var binary_cross_entropy(Tape& tape, Var logits, const Tensor& targets, float factor) {
  require_contiguous("binary cross-entropy", "logits", logits);
  if (targets.dtype() != DType::f32 || !targets.contiguous() || !(targets.shape() == logits->value.shape()))
    throw usage_error("binary cross-entropy: the targets do not match the logits")
        .found(described(targets))
        .expected(described(logits->value));
  const bool wanted = tape.wanted({logits});
  Var out = tape.make({1}, wanted);
  double sum = 0.0;
  for (std::int64_t i = 0; i < logits->value.elements(); ++i) {
    // Compute −y x + log(1 + eˣ) without overflow.
    const double x = static_cast<double>(logits->value.f32()[i]);
    sum += std::max(x, 0.0) - x * static_cast<double>(targets.f32()[i]) + std::log1p(std::exp(-std::abs(x)));
  }
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(factor));
  if (wanted) tape.record(BinaryCrossEntropyNode{{.out = out}, logits, targets.f32(), factor});
  return out;
}

}  // namespace regard::ops
