#include "ops/margin_loss.h"

#include <algorithm>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct MarginNode : Tape::Node {
  Var near, far;
  float margin, factor;
  static void backward(MarginNode& node, Tape& tape) {
    const float scale = node.factor * node.out->gradient.f32()[0];
    float *of_near = tape.accumulated(node.near), *of_far = tape.accumulated(node.far);
    for (std::int64_t i = 0; i < node.near->value.elements(); ++i) {
      if (!(node.near->value.f32()[i] - node.far->value.f32()[i] + node.margin > 0.0f)) continue;
      if (of_near != nullptr) of_near[i] += scale;
      if (of_far != nullptr) of_far[i] -= scale;
    }
  }
};

}  // namespace

Var margin_loss(Tape& tape, Var near, Var far, float margin, float factor) {
  require_contiguous("margin_loss", "near", near);
  require_contiguous("margin_loss", "far", far);
  if (!(near->value.shape() == far->value.shape()))
    throw shape_error("margin_loss", "near and far differ in shape", {{"near", near}, {"far", far}})
        .expected("equal shapes");
  double sum = 0;
  for (std::int64_t i = 0; i < near->value.elements(); ++i) {
    const float excess = near->value.f32()[i] - far->value.f32()[i] + margin;
    sum += static_cast<double>(excess > 0.0f || excess != excess ? excess : 0.0f);  // NaN remains NaN
  }
  const bool wanted = tape.wanted({near, far});
  Var out = tape.make({1}, wanted);
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(factor));
  if (wanted) tape.record(MarginNode{{.out = out}, near, far, margin, factor});
  return out;
}

}  // namespace regard::ops
