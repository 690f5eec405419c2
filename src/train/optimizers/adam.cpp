#include "train/optimizers/adam.h"

#include <cmath>

#include "kernels/optimizer.h"
#include "train/optimizers/elementwise.h"

namespace regard::train {

kernels::AdamW adam_constants(const OptimizerOptions& options, double learning_rate, double gradient_scale,
                              std::int64_t step) {
  const auto t = static_cast<double>(step);
  return {.learning_rate = learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = 0.0,
          .gradient_scale = gradient_scale,
          .correction1 = 1.0 - std::pow(options.beta1, t),
          .correction2 = 1.0 - std::pow(options.beta2, t)};
}

namespace {

std::vector<const char*> moments(const OptimizerOptions&) {
  return {"first", "second"};
}

// Update a weight with kernels::adam or kernels::adamw.
template <auto kernel>
void update_with_moments(ThreadPool& pool, const OptimizerOptions& options, Optimizer::Slot& slot,
                         const Optimizer::Step& step) {
  kernels::AdamW constants = adam_constants(options, step.learning_rate, step.gradient_scale, step.number);
  constants.weight_decay = slot.weight_decay;
  kernel(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.of(1), slot.elements());
}

}  // namespace

const ElementwiseMethod kAdam{moments, update_with_moments<kernels::adam>};
const ElementwiseMethod kAdamW{moments, update_with_moments<kernels::adamw>};

}  // namespace regard::train
