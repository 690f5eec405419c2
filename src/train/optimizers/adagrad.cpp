#include "kernels/optimizer.h"
#include "train/optimizers/elementwise.h"

namespace regard::train {

const ElementwiseMethod kAdagrad{
    [](const OptimizerOptions&) { return std::vector<const char*>{"sum"}; },
    [](ThreadPool& pool, const OptimizerOptions& options, Optimizer::Slot& slot,
       const Optimizer::Step& step) {
      const double before = static_cast<double>(step.number - 1);
      const kernels::Adagrad constants{
          .learning_rate = step.learning_rate / (1.0 + before * options.rate_decay),
          .epsilon = options.epsilon,
          .weight_decay = slot.weight_decay,
          .gradient_scale = step.gradient_scale};
      kernels::adagrad(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.elements());
    }};

}  // namespace regard::train
