// Learning-rate schedules, as defined by Hugging Face transformers (optimization.py).
// torch.optim.lr_scheduler.OneCycleLR defines one_cycle.
#pragma once

#include <cstdint>

namespace regard::train {

enum class ScheduleKind {
  inverse_sqrt,
  cosine,
  cosine_restarts,
  linear,
  polynomial,
  constant,
  one_cycle,
  warmup_stable_decay
};

enum class DecayShape { cosine, linear, one_minus_sqrt };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;            // learning rate after the warm-up
  double floor = 0.0;            // final learning rate; not used by inverse_sqrt, constant and one_cycle
  std::int64_t warmup = 0;       // number of warm-up steps
  std::int64_t max_steps = 0;    // step at which the schedule ends; not used by inverse_sqrt and constant
  double cycles = 0.5;           // number of periods of cosine; 0.5 is a single decrease
  std::int64_t restarts = 1;     // number of half periods of cosine_restarts; each starts at the peak
  double power = 1.0;            // exponent of the polynomial schedule
  std::int64_t decay_steps = 0;  // number of steps of the final decay of warmup_stable_decay
  DecayShape decay_shape = DecayShape::cosine;
  // for one_cycle: initial rate = peak / start_divisor, final rate = initial rate / end_divisor
  double start_divisor = 25.0, end_divisor = 1e4;

  // Return the learning rate of step `step`, counted from 0. It rises linearly from 0 during the warm-up.
  // Then, with w = warmup, p = (step − w) / (max_steps − w) and range = peak − floor:
  //   inverse_sqrt     peak · √(w / step); without a warm-up, peak · √(10000 / (step + 10000))
  //   cosine           floor + range · (1 + cos(2π cycles p)) / 2
  //   cosine_restarts  floor + range · (1 + cos(π · frac(restarts · p))) / 2, where frac is the fractional
  //                    part; floor at the end
  //   linear           floor + range · (1 − p)
  //   polynomial       floor + range · (1 − p)^power
  //   constant         peak
  //   warmup_stable_decay  peak until decay_steps before max_steps, then with q from 0 to 1
  //                    floor + range · s, s = (1 + cos(πq)) / 2, 1 − q or 1 − √q. The warm-up starts at
  //                    floor.
  //   one_cycle        half a cosine period from peak / start_divisor to peak at step w − 1 (instead of the
  //                    linear warm-up), then half a period to peak / start_divisor / end_divisor at
  //                    max_steps − 1
  double at(std::int64_t step) const;

 private:
  double after_warmup(std::int64_t step) const;
  double stable_decay(std::int64_t step) const;
  double one_cycle(std::int64_t step) const;
};

}  // namespace regard::train
