// Learning-rate schedules, as Hugging Face transformers (optimization.py) defines them.
#pragma once

#include <cstdint>

namespace regard::train {

enum class ScheduleKind { inverse_sqrt, cosine, linear, constant };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;          // after the warm-up
  double floor = 0.0;          // where cosine and linear end
  std::int64_t warmup = 0;     // steps
  std::int64_t max_steps = 0;  // where cosine and linear end

  // The learning rate of step `step`, counted from 0. It rises in a line from 0 over the warm-up; then
  //   inverse_sqrt  peak · √(w / step), w the warm-up, or 10000 without one (step then starts at w)
  //   cosine        half a cosine from peak to floor at max_steps
  //   linear        a line from peak to floor at max_steps
  //   constant      peak
  double at(std::int64_t step) const;
};

}  // namespace regard::train
