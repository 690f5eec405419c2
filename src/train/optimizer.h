// AdamW (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101) with torch.optim.AdamW's arithmetic,
// and gradient clipping by global norm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "formats/safetensors.h"
#include "ops/tape.h"

namespace regard::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  bool decay_all = false;  // false: only weights with at least two dimensions decay
};

class AdamW {
 public:
  // The parameters must outlive this object. Parameters that are not trainable are ignored.
  AdamW(std::vector<Parameter*> parameters, const AdamWOptions& options);

  // Update the parameters with their gradients times gradient_scale. Allocates nothing.
  void step(ThreadPool& pool, double learning_rate, double gradient_scale);
  std::int64_t steps() const { return steps_; }  // number of updates so far

  // The moments as tensors "first.NAME" and "second.NAME": views, valid for the lifetime of this object.
  std::vector<formats::NamedTensor> state() const;
  // Load the moments and set the number of steps. Throws bad_file if a tensor is missing or does not have the
  // expected shape and type float32.
  void restore(const formats::SafetensorsFile& file, std::int64_t steps);

 private:
  struct Moments {
    Parameter* parameter;
    Tensor first, second;
    bool decays;
  };
  std::vector<Moments> moments_;
  AdamWOptions options_;
  std::int64_t steps_ = 0;
};

// The global norm of the gradients of trainable parameters, summed in double in the order of `parameters`.
double gradient_norm(ThreadPool& pool, std::span<Parameter* const> parameters);

// The factor that limits the gradients' norm to `max_norm`, as in torch: min(1, max_norm / (norm + 1e-6)). 1
// if max_norm is 0.
double clip_factor(double norm, double max_norm);

}  // namespace regard::train
