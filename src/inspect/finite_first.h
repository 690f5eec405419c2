#pragma once

#include <cmath>

namespace regard::inspect {

// Comparison function that sorts the largest number first and NaN last. `a > b` is not a strict weak ordering
// if there are NaNs.
inline bool is_larger(double a, double b) noexcept {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace regard::inspect
