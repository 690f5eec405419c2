#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace regard::train {
namespace {

constexpr double kPi = std::numbers::pi;

double length_of(std::int64_t steps) {
  return static_cast<double>(std::max<std::int64_t>(steps, 1));
}

// Return the value at `progress` (0 to 1) on half a cosine period from `start` to `end`.
double half_cosine(double start, double end, double progress) {
  return end + (start - end) / 2.0 * (1.0 + std::cos(kPi * progress));
}

double shape_of(DecayShape shape, double progress) {
  switch (shape) {
    case DecayShape::cosine:
      return 0.5 * (1.0 + std::cos(kPi * progress));
    case DecayShape::linear:
      return 1.0 - progress;
    case DecayShape::one_minus_sqrt:
      break;
  }
  return 1.0 - std::sqrt(progress);
}

}  // namespace

double Schedule::at(std::int64_t step) const {
  if (kind == ScheduleKind::one_cycle) return one_cycle(step);
  if (step >= warmup) return after_warmup(step);
  const double progress = static_cast<double>(step) / length_of(warmup);
  if (kind == ScheduleKind::warmup_stable_decay) return floor + (peak - floor) * progress;
  return peak * static_cast<double>(step) / length_of(warmup);
}

double Schedule::after_warmup(std::int64_t step) const {
  const double after = static_cast<double>(step - warmup), length = length_of(max_steps - warmup);
  switch (kind) {
    case ScheduleKind::inverse_sqrt: {
      constexpr double kWithoutWarmup = 10000.0;
      const double scale = warmup > 0 ? static_cast<double>(warmup) : kWithoutWarmup;
      return peak / std::sqrt((after + scale) / scale);
    }
    case ScheduleKind::cosine:
      return floor +
             (peak - floor) * std::max(0.0, 0.5 * (1.0 + std::cos(kPi * (2.0 * cycles) * after / length)));
    case ScheduleKind::cosine_restarts: {
      if (after >= length) return floor;
      const double fraction = std::fmod(static_cast<double>(restarts) * (after / length), 1.0);
      return floor + (peak - floor) * std::max(0.0, 0.5 * (1.0 + std::cos(kPi * fraction)));
    }
    case ScheduleKind::linear:
      return floor + (peak - floor) * std::max(0.0, 1.0 - after / length);
    case ScheduleKind::polynomial:
      return floor + (peak - floor) * std::pow(std::max(0.0, 1.0 - after / length), power);
    case ScheduleKind::warmup_stable_decay:
      return stable_decay(step);
    case ScheduleKind::constant:
    case ScheduleKind::one_cycle:
      break;
  }
  return peak;
}

double Schedule::stable_decay(std::int64_t step) const {
  if (step >= max_steps) return floor;
  const std::int64_t start = max_steps - decay_steps;
  if (step < start) return peak;
  const double progress = static_cast<double>(step - start) / length_of(decay_steps);
  return floor + (peak - floor) * std::max(0.0, shape_of(decay_shape, progress));
}

// As in PyTorch, the learning rate reaches the peak at step warmup − 1, which may be −1.
double Schedule::one_cycle(std::int64_t step) const {
  const double start = peak / start_divisor, end = start / end_divisor;
  const double top = static_cast<double>(warmup) - 1.0, last = static_cast<double>(max_steps) - 1.0;
  const double at = std::min(static_cast<double>(step), last);
  if (at <= top && top > 0.0) return half_cosine(start, peak, at / top);
  if (last <= top) return peak;
  return half_cosine(peak, end, (at - top) / (last - top));
}

}  // namespace regard::train
