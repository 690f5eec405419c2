#include "train/optimizers/adam.h"

#include <cmath>

#include "kernels/optimizer.h"

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

Adam::Adam(std::span<Parameter* const> parameters, const OptimizerOptions& options,
           std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  for (Slot& slot : slots())
    for (const char* kind : {"first", "second"}) slot.add_state(kind, slot.shape());
}

void Adam::update(ThreadPool& pool, Slot& slot, const Step& step) {
  kernels::AdamW constants = adam_constants(options(), step.learning_rate, step.gradient_scale, step.number);
  constants.weight_decay = slot.weight_decay;
  kernels::adam(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.of(1), slot.elements());
}

AdamW::AdamW(std::span<Parameter* const> parameters, const OptimizerOptions& options,
             std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  for (Slot& slot : slots())
    for (const char* kind : {"first", "second"}) slot.add_state(kind, slot.shape());
}

void AdamW::update(ThreadPool& pool, Slot& slot, const Step& step) {
  kernels::AdamW constants = adam_constants(options(), step.learning_rate, step.gradient_scale, step.number);
  constants.weight_decay = slot.weight_decay;
  kernels::adamw(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.of(1), slot.elements());
}

}  // namespace regard::train
