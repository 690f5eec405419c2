#include "ops/scale_exp.h"

#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct ScaleExpNode : Tape::Node {
  Var x, log_factor, bias;
  float factor;
  static void backward(ScaleExpNode& node, Tape& tape) {
    const float *x = node.x->value.f32(), *dy = node.out->gradient.f32();
    const std::int64_t count = node.x->value.elements();
    double along = 0.0, total = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      along += static_cast<double>(dy[i]) * static_cast<double>(x[i]);
      total += static_cast<double>(dy[i]);
    }
    if (float* gradient = tape.accumulated(node.log_factor))
      gradient[0] += static_cast<float>(along * static_cast<double>(node.factor));
    if (float* gradient = tape.accumulated(node.bias)) gradient[0] += static_cast<float>(total);
    if (float* gradient = tape.accumulated(node.x))
      for (std::int64_t i = 0; i < count; ++i) gradient[i] += node.factor * dy[i];
  }
};

void require_scalar(const char* name, Var x) {
  if (x != nullptr && x->value.elements() != 1)
    throw shape_error("scale_exp", std::string(name) + " is not a single number", {{name, x}})
        .expected("1 element");
}

}  // namespace

Var scale_exp(Tape& tape, Var x, Var log_factor, Var bias) {
  require_contiguous("scale_exp", "x", x);
  require_scalar("log_factor", log_factor);
  require_scalar("bias", bias);
  const bool wanted = tape.wanted({x, log_factor, bias});
  Var out = tape.make(x->value.shape(), wanted);
  const float factor = std::exp(log_factor->value.f32()[0]);
  const float offset = bias != nullptr ? bias->value.f32()[0] : 0.0f;
  for (std::int64_t i = 0; i < x->value.elements(); ++i)
    out->value.f32()[i] = factor * x->value.f32()[i] + offset;
  if (wanted) tape.record(ScaleExpNode{{.out = out}, x, log_factor, bias, factor});
  return out;
}

}  // namespace regard::ops
