// Adam (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980) and AdamW (Loshchilov and Hutter 2019,
// https://arxiv.org/abs/1711.05101), with the arithmetic of torch.optim. State: "first" and "second", the
// moving averages of the gradient and of the squared gradient.
#pragma once

#include "kernels/rows.h"
#include "train/optimizers/optimizer.h"

namespace regard::train {

// Return the constants of a step of Adam or AdamW, without weight decay.
kernels::AdamW adam_constants(const OptimizerOptions& options, double learning_rate, double gradient_scale,
                              std::int64_t step);

// Adam. Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::span<Parameter* const> parameters, const OptimizerOptions& options,
       std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

// AdamW. Weight decay is decoupled: w −= learning_rate · weight_decay · w.
class AdamW : public Optimizer {
 public:
  AdamW(std::span<Parameter* const> parameters, const OptimizerOptions& options,
        std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
