// Function table of the elementary functions on arrays.
#pragma once

#include "kernels/vector_math.h"

namespace regard::kernels {

struct VectorMathTable {
  void (*evaluate)(Function function, const float* x, float* y, std::int64_t count);
  float (*dot_in_order)(const float* a, const float* b, std::int64_t count);
};

}  // namespace regard::kernels
