#include "train/optimizers/sgd.h"

#include "kernels/optimizer.h"

namespace regard::train {

Sgd::Sgd(std::span<Parameter* const> parameters, const OptimizerOptions& options,
         std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  if (options.momentum == 0.0) return;
  for (Slot& slot : slots()) slot.add_state("momentum", slot.shape());
}

void Sgd::update(ThreadPool& pool, Slot& slot, const Step& step) {
  const kernels::Sgd constants{.learning_rate = step.learning_rate,
                               .momentum = options().momentum,
                               .weight_decay = slot.weight_decay,
                               .nesterov = options().nesterov,
                               .gradient_scale = step.gradient_scale};
  kernels::sgd(pool, constants, slot.weight(), slot.gradient(), slot.state.empty() ? nullptr : slot.of(0),
               slot.elements());
}

}  // namespace regard::train
