// RMSprop (Tieleman and Hinton 2012), not centred, with the arithmetic of torch.optim.RMSprop. State:
// "square", the moving average of the squared gradient, and "momentum" if momentum is used.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

class RmsProp : public Optimizer {
 public:
  RmsProp(std::span<Parameter* const> parameters, const OptimizerOptions& options,
          std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
