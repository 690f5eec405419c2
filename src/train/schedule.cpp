#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace regard::train {

double Schedule::at(std::int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(warmup, 1));
  const double after = static_cast<double>(step - warmup);
  const double length = static_cast<double>(std::max<std::int64_t>(max_steps - warmup, 1));
  switch (kind) {
    case ScheduleKind::inverse_sqrt: {
      constexpr double kWithoutWarmup = 10000.0;
      const double scale = warmup > 0 ? static_cast<double>(warmup) : kWithoutWarmup;
      return peak / std::sqrt((after + scale) / scale);
    }
    case ScheduleKind::cosine:
      return floor +
             (peak - floor) * std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * after / length)));
    case ScheduleKind::linear:
      return floor + (peak - floor) * std::max(0.0, 1.0 - after / length);
    case ScheduleKind::constant:
      break;
  }
  return peak;
}

}  // namespace regard::train
