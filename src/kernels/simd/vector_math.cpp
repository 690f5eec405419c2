#include "kernels/simd/masked.h"
#include "kernels/simd/math.h"
#include "kernels/vector_math_table.h"

namespace regard::kernels::REGARD_ISA {
namespace {

template <class Body>
HWY_INLINE void map(const float* x, float* y, std::int64_t count, Body body) {
  const Floats d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += step)
    store_first(body(load_first(d, x + i, count - i)), d, y + i, count - i);
}

void evaluate(Function function, const float* x, float* y, std::int64_t count) {
  const Floats d;
  switch (function) {
    case Function::exp:
      return map(x, y, count, [d](FloatVector v) { return exp(d, v); });
    case Function::exp_flushed:
      return map(x, y, count, [d](FloatVector v) { return exp_flushed(d, v); });
    case Function::exp_of_difference:
      return map(x, y, count, [d](FloatVector v) { return exp_of_difference(d, v); });
    case Function::log:
      return map(x, y, count, [d](FloatVector v) { return log(d, v); });
    case Function::tanh:
      return map(x, y, count, [d](FloatVector v) { return tanh(d, v); });
    case Function::erf:
      return map(x, y, count, [d](FloatVector v) { return erf(d, v); });
    case Function::sigmoid:
      return map(x, y, count, [d](FloatVector v) { return sigmoid(d, v); });
  }
}

float dot_in_order(const float* a, const float* b, std::int64_t count) {
  float sum = 0.0f;
  for (std::int64_t i = 0; i < count; ++i) sum = __builtin_fmaf(a[i], b[i], sum);
  return sum;
}

}  // namespace

extern const VectorMathTable vector_math_table;
constinit const VectorMathTable vector_math_table{evaluate, dot_in_order};

}  // namespace regard::kernels::REGARD_ISA
