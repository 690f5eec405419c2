// Function table of kernels/optimizer.h. Each function runs on the calling thread.
#pragma once

#include "kernels/optimizer.h"

namespace regard::kernels {

struct OptimizerTable {
  void (*adam)(const AdamW& step, float* weight, const float* gradient, float* first, float* second,
               std::int64_t count);
  void (*sgd)(const Sgd& step, float* weight, const float* gradient, float* buffer, std::int64_t count);
  void (*rmsprop)(const RmsProp& step, float* weight, const float* gradient, float* square, float* buffer,
                  std::int64_t count);
  void (*adagrad)(const Adagrad& step, float* weight, const float* gradient, float* sum, std::int64_t count);
  void (*moving_average)(double decay, const float* weight, float* average, std::int64_t count);
};

}  // namespace regard::kernels
