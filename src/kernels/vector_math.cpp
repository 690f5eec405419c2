#include "kernels/vector_math.h"

#include "kernels/dispatch.h"
#include "kernels/vector_math_table.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(VectorMathTable, vector_math_table)

void evaluate(Function function, const float* x, float* y, std::int64_t count) {
  dispatch_vector_math_table().evaluate(function, x, y, count);
}

float dot_in_order(const float* a, const float* b, std::int64_t count) {
  return dispatch_vector_math_table().dot_in_order(a, b, count);
}

}  // namespace regard::kernels
