// Adagrad (Duchi et al. 2011), with the arithmetic of torch.optim.Adagrad. State: "sum", the sum of the
// squared gradients, initially 0.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

class Adagrad : public Optimizer {
 public:
  Adagrad(std::span<Parameter* const> parameters, const OptimizerOptions& options,
          std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
