// Stochastic gradient descent with momentum and Nesterov's momentum (Sutskever et al. 2013), with the
// arithmetic of torch.optim.SGD. State: "momentum" if momentum is used.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

class Sgd : public Optimizer {
 public:
  Sgd(std::span<Parameter* const> parameters, const OptimizerOptions& options,
      std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
