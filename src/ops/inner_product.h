// Inner product with a sum in double precision, for operations whose vectors are few or short.
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops {

inline double inner_product(const float* a, const float* b, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace regard::ops
