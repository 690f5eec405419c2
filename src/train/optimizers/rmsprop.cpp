#include "kernels/optimizer.h"
#include "train/optimizers/elementwise.h"

namespace regard::train {

const ElementwiseMethod kRmsProp{[](const OptimizerOptions& options) {
                                   std::vector<const char*> kinds{"square"};
                                   if (options.momentum > 0.0) kinds.push_back("momentum");
                                   return kinds;
                                 },
                                 [](ThreadPool& pool, const OptimizerOptions& options, Optimizer::Slot& slot,
                                    const Optimizer::Step& step) {
                                   const kernels::RmsProp constants{.learning_rate = step.learning_rate,
                                                                    .smoothing = options.smoothing,
                                                                    .epsilon = options.epsilon,
                                                                    .momentum = options.momentum,
                                                                    .weight_decay = slot.weight_decay,
                                                                    .gradient_scale = step.gradient_scale};
                                   kernels::rmsprop(pool, constants, slot.weight(), slot.gradient(),
                                                    slot.of(0), slot.state.size() > 1 ? slot.of(1) : nullptr,
                                                    slot.elements());
                                 }};

}  // namespace regard::train
