#include "kernels/optimizer.h"
#include "train/optimizers/elementwise.h"

namespace regard::train {

const ElementwiseMethod kSgd{[](const OptimizerOptions& options) {
                               return options.momentum == 0.0 ? std::vector<const char*>{}
                                                              : std::vector<const char*>{"momentum"};
                             },
                             [](ThreadPool& pool, const OptimizerOptions& options, Optimizer::Slot& slot,
                                const Optimizer::Step& step) {
                               const kernels::Sgd constants{.learning_rate = step.learning_rate,
                                                            .momentum = options.momentum,
                                                            .weight_decay = slot.weight_decay,
                                                            .nesterov = options.nesterov,
                                                            .gradient_scale = step.gradient_scale};
                               kernels::sgd(pool, constants, slot.weight(), slot.gradient(),
                                            slot.state.empty() ? nullptr : slot.of(0), slot.elements());
                             }};

}  // namespace regard::train
