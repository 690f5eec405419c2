#pragma once

#include <cmath>

namespace regard::inspect {

// Order for sorting: the largest first, NaN last. `a > b` is not a valid order if there are NaNs.
inline bool is_larger(double a, double b) noexcept {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace regard::inspect
