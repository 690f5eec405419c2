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
  // Average the trainable parameters, which must outlive this object. If `decay` is 0, there is no average,
  // and the other functions do nothing. With `warmup`, the decay of update t (counted from 0) is min(decay,
  // (1 + t) / (10 + t)).
  WeightEma(std::span<Parameter* const> parameters, double decay, bool warmup);

  bool active() const { return !averages_.empty(); }
  // Update the averages after an update of the weights, without allocating memory. `updates` is the number of
  // updates so far, including this one; if it is 1, the averages are set to the weights.
  void update(ThreadPool& pool, std::int64_t updates);
  // Exchange the weights and the averages. A second call restores the weights.
  void exchange();

  // Return views of the weights, named "weight.NAME", for a checkpoint of a model that contains the averages.
  // Call this function while the model contains the averages (see exchange()). The views are valid until the
  // next exchange().
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
