#include "train/optimizers/adagrad.h"

#include "kernels/optimizer.h"

namespace regard::train {

Adagrad::Adagrad(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                 std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  for (Slot& slot : slots()) slot.add_state("sum", slot.shape());
}

void Adagrad::update(ThreadPool& pool, Slot& slot, const Step& step) {
  const double before = static_cast<double>(step.number - 1);
  const kernels::Adagrad constants{
      .learning_rate = step.learning_rate / (1.0 + before * options().rate_decay),
      .epsilon = options().epsilon,
      .weight_decay = slot.weight_decay,
      .gradient_scale = step.gradient_scale};
  kernels::adagrad(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.elements());
}

}  // namespace regard::train
