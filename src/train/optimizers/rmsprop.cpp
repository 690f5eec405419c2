#include "train/optimizers/rmsprop.h"

#include "kernels/optimizer.h"

namespace regard::train {

RmsProp::RmsProp(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                 std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  for (Slot& slot : slots()) {
    slot.add_state("square", slot.shape());
    if (options.momentum > 0.0) slot.add_state("momentum", slot.shape());
  }
}

void RmsProp::update(ThreadPool& pool, Slot& slot, const Step& step) {
  const kernels::RmsProp constants{.learning_rate = step.learning_rate,
                                   .smoothing = options().smoothing,
                                   .epsilon = options().epsilon,
                                   .momentum = options().momentum,
                                   .weight_decay = slot.weight_decay,
                                   .gradient_scale = step.gradient_scale};
  kernels::rmsprop(pool, constants, slot.weight(), slot.gradient(), slot.of(0),
                   slot.state.size() > 1 ? slot.of(1) : nullptr, slot.elements());
}

}  // namespace regard::train
