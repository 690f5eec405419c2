// Learning-rate schedules, as Hugging Face transformers (optimization.py) defines them.
#pragma once

#include <cstdint>

namespace regard::train {

enum class ScheduleKind { inverse_sqrt, cosine, linear, constant };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;          // after the warm-up
  double floor = 0.0;          // final learning rate of cosine and linear
  std::int64_t warmup = 0;     // steps
  std::int64_t max_steps = 0;  // step at which cosine and linear reach floor

  // The learning rate of step `step`, counted from 0. It rises linearly from 0 during the warm-up; then
  //   inverse_sqrt  peak · √(w / step), w = warmup; without a warm-up, peak · √(w / (step + w)), w = 10000
  //   cosine        half a cosine period from peak to floor at max_steps
  //   linear        linear from peak to floor at max_steps
  //   constant      peak
  double at(std::int64_t step) const;
};

}  // namespace regard::train
