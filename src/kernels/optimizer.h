// One step of an element-wise optimiser over `count` weights w, with g = gradient_scale · gradient. Options
// are double, because in f32, 1 − 0.999 has a relative error of 1e-5. AdamW is declared in rows.h.
#pragma once

#include <cstdint>

#include "kernels/rows.h"

namespace regard::kernels {

// torch.optim.Adam (Kingma and Ba 2015): the arithmetic of AdamW, except that weight decay is added to the
// gradient: g += weight_decay · w.
void adam(ThreadPool& pool, const AdamW& step, float* weight, const float* gradient, float* first,
          float* second, std::int64_t count);

// torch.optim.SGD: g += weight_decay · w; buffer = momentum · buffer + g; w −= learning_rate · direction,
// where the direction is the buffer or, with Nesterov momentum, g + momentum · buffer. Without momentum, the
// direction is g.
struct Sgd {
  double learning_rate, momentum, weight_decay;
  bool nesterov;
  double gradient_scale;
};
// `buffer` may be null if momentum is 0.
void sgd(ThreadPool& pool, const Sgd& step, float* weight, const float* gradient, float* buffer,
         std::int64_t count);

// torch.optim.RMSprop, not centred: g += weight_decay · w; square = smoothing · square + (1 − smoothing) ·
// g²; u = g / (√square + epsilon); with momentum, buffer = momentum · buffer + u and the buffer replaces u;
// w −= learning_rate · u.
struct RmsProp {
  double learning_rate, smoothing, epsilon, momentum, weight_decay;
  double gradient_scale;
};
// `buffer` may be null if momentum is 0.
void rmsprop(ThreadPool& pool, const RmsProp& step, float* weight, const float* gradient, float* square,
             float* buffer, std::int64_t count);

// torch.optim.Adagrad (Duchi et al. 2011): g += weight_decay · w; sum += g²;
// w −= learning_rate · g / (√sum + epsilon).
struct Adagrad {
  double learning_rate, epsilon, weight_decay;
  double gradient_scale;
};
void adagrad(ThreadPool& pool, const Adagrad& step, float* weight, const float* gradient, float* sum,
             std::int64_t count);

// Update an exponential moving average: average = average · decay + (1 − decay) · weight.
void moving_average(ThreadPool& pool, double decay, const float* weight, float* average, std::int64_t count);

}  // namespace regard::kernels
