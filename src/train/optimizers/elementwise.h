// Optimisers with one kernel call per weight and the arithmetic of torch.optim. Their state tensors have the
// shape of the weight.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

struct ElementwiseMethod {
  // Return the names of the state tensors of each weight.
  std::vector<const char*> (*state)(const OptimizerOptions& options);
  // Update one weight, as Optimizer::update() does.
  void (*update)(ThreadPool& pool, const OptimizerOptions& options, Optimizer::Slot& slot,
                 const Optimizer::Step& step);
};

// Adam (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980). State: "first" and "second", the moving
// averages of the gradient and of the squared gradient. Weight decay is added to the gradient.
extern const ElementwiseMethod kAdam;
// AdamW (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101). State as for Adam. Weight decay is
// decoupled: w −= learning_rate · weight_decay · w.
extern const ElementwiseMethod kAdamW;
// Stochastic gradient descent with momentum and Nesterov's momentum (Sutskever et al. 2013). State:
// "momentum" if momentum is used.
extern const ElementwiseMethod kSgd;
// RMSprop (Tieleman and Hinton 2012), not centred. State: "square", the moving average of the squared
// gradient, and "momentum" if momentum is used.
extern const ElementwiseMethod kRmsProp;
// Adagrad (Duchi et al. 2011). State: "sum", the sum of the squared gradients, initially 0.
extern const ElementwiseMethod kAdagrad;

class ElementwiseOptimizer : public Optimizer {
 public:
  ElementwiseOptimizer(const ElementwiseMethod& method, std::span<Parameter* const> parameters,
                       const OptimizerOptions& options, std::span<const double> rate_factors)
      : Optimizer(parameters, options, rate_factors), method_(method) {
    for (Slot& slot : slots())
      for (const char* kind : method.state(options)) slot.add_state(kind, slot.shape());
  }

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override {
    method_.update(pool, options(), slot, step);
  }

 private:
  const ElementwiseMethod& method_;
};

}  // namespace regard::train
