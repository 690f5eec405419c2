// Exponential moving average of the weights (Polyak and Juditsky 1992), with the arithmetic of
// torch.optim.swa_utils.get_ema_multi_avg_fn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "formats/safetensors.h"
#include "ops/parameter.h"

namespace regard::train {

class WeightEma {
 public:
  // If `decay` is 0, there is no average, and the other functions do nothing. Otherwise the parameters must
  // outlive this object. Weights that are not trainable are not averaged. With `warmup`, the decay of update
  // t (counted from 0) is min(decay, (1 + t) / (10 + t)).
  WeightEma(std::span<Parameter* const> parameters, double decay, bool warmup);

  bool active() const { return !averages_.empty(); }
  // Update the averages. Call it after each update of the weights. `updates` is the number of updates so far,
  // including this one. The first call sets the averages to the weights. Does not allocate memory.
  void update(ThreadPool& pool, std::int64_t updates);
  // Exchange the weights and the averages. A second call restores the weights.
  void exchange();

  // Return views of the tensors "weight.NAME", for a checkpoint of a model that contains the averages. They
  // hold the weights that exchange() has moved out of the model, and are valid while the values are
  // exchanged.
  std::vector<formats::NamedTensor> state() const;
  // Restore from a checkpoint with the tensors of state(). The model must contain the averages; the weights
  // are read from `file` ("weight.NAME"). Throws bad_file if a tensor is missing or does not match.
  void restore(const formats::SafetensorsFile& file);

 private:
  struct Average {
    Parameter* parameter;
    Tensor value;
  };
  std::vector<Average> averages_;
  double decay_;
  bool warmup_;
};

}  // namespace regard::train
