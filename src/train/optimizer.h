// AdamW (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101) with torch.optim.AdamW's arithmetic,
// and clipping by the norm of all gradients together.
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
  bool decay_all = false;  // false: only weights of two dimensions or more decay
};

class AdamW {
 public:
  // The parameters must outlive this; those that are not trainable are left alone.
  AdamW(std::vector<Parameter*> parameters, const AdamWOptions& options);

  // One update with the parameters' gradients times gradient_scale. Allocates nothing.
  void step(ThreadPool& pool, double learning_rate, double gradient_scale);
  std::int64_t steps() const { return steps_; }  // done so far

  // The moments as "first.NAME" and "second.NAME"; views that stay valid as long as this.
  std::vector<formats::NamedTensor> state() const;
  // Throws bad_file if a tensor is missing or has another shape.
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

// The norm of all gradients together, summed in double in the order of parameters.
double gradient_norm(ThreadPool& pool, std::span<Parameter* const> parameters);

// What to multiply gradients with so that their norm is at most `max_norm`: torch's
// min(1, max_norm / (norm + 1e-6)); 1 where max_norm is 0.
double clip_factor(double norm, double max_norm);

}  // namespace regard::train
