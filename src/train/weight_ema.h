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
  // decay 0: no average; every other call then has no effect. Otherwise the parameters must outlive this
  // object. Weights that are not trainable are not averaged. warmup: the decay of update t (from 0) is
  // min(decay, (1 + t) / (10 + t)).
  WeightEma(std::span<Parameter* const> parameters, double decay, bool warmup);

  bool active() const { return !averages_.empty(); }
  // After an update of the weights; `updates`: how many there were, this one included. The first one sets the
  // average to the weights. Allocates nothing.
  void update(ThreadPool& pool, std::int64_t updates);
  // Exchange weights and averages. Calling it again restores the weights.
  void exchange();

  // Return the tensors "weight.NAME" that are not in the model at the moment, for a checkpoint whose model
  // has the averages: valid while exchanged. Views.
  std::vector<formats::NamedTensor> state() const;
  // The model has the averages, as read from such a checkpoint; `file` has "weight.NAME". Put both into
  // place. Throws bad_file if a tensor is missing or does not fit.
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
