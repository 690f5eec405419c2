#pragma once

#include <cmath>

namespace regard::inspect {

// Order for sorting, the largest first and NaN last. `a > b` alone is no order of numbers with NaN.
inline bool is_larger(double a, double b) noexcept {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace regard::inspect
