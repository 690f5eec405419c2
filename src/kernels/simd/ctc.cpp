// The inner loops of kernels/ctc.h.
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>

#include "kernels/ctc_table.h"
#include "kernels/simd/masked.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;
constexpr auto kDoubleLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
constexpr double kSmallest = -1.0e300;  // used as the maximum if all logarithms are −∞, to avoid −∞ − (−∞)

// Call body(i, left) for each vector of `count` elements, as each_vector() does for floats.
template <class Body>
HWY_INLINE void each_double_vector(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + kDoubleLanes <= count; i += kDoubleLanes) body(i, kDoubleLanes);
  if (i < count) body(i, count - i);
}

void log_softmax(const float* logits, std::int64_t rows, std::int64_t columns, double* log_p) {
  const Doubles d;
  const hn::Rebind<float, Doubles> narrow;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = logits + row * columns;
    double* y = log_p + row * columns;
    const DoubleVector most = hn::Set(d, static_cast<double>(*std::max_element(x, x + columns)));
    // Lane l sums the columns l, l + lanes, …; lanes after the last column add nothing.
    DoubleVector sums = hn::Zero(d);
    each_double_vector(columns, [&](std::int64_t i, std::int64_t left) {
      const DoubleVector above = hn::Sub(hn::PromoteTo(d, load_first(narrow, x + i, left)), most);
      store_first(above, d, y + i, left);
      // hn::Exp(NaN) is 0, so keep NaN.
      const DoubleVector power = hn::IfThenElse(hn::IsNaN(above), above, hn::Exp(d, above));
      sums = hn::Add(sums, left >= kDoubleLanes ? power : hn::IfThenElseZero(first_lanes(d, left), power));
    });
    const DoubleVector normaliser = hn::Set(d, std::log(hn::GetLane(hn::SumOfLanes(d, sums))));
    each_double_vector(columns, [&](std::int64_t i, std::int64_t left) {
      store_first(hn::Sub(load_first(d, y + i, left), normaliser), d, y + i, left);
    });
  }
}

void step(const CtcStep& step) {
  const Doubles d;
  const DoubleVector smallest = hn::Set(d, kSmallest), never = hn::Neg(hn::Inf(d));
  each_double_vector(step.states, [&](std::int64_t i, std::int64_t left) {
    const DoubleVector a = load_first(d, step.a + i, left), b = load_first(d, step.b + i, left);
    const DoubleVector c = hn::Add(load_first(d, step.c + i, left), load_first(d, step.skip + i, left));
    const DoubleVector most = hn::Max(hn::Max(a, b), hn::Max(c, smallest));
    const auto power = [&](DoubleVector x) { return hn::Exp(d, hn::Sub(x, most)); };
    const DoubleVector log = hn::Log(d, hn::Add(hn::Add(power(a), power(b)), power(c)));
    const DoubleVector sum = hn::IfThenElse(hn::Gt(most, smallest), hn::Add(most, log), never);
    if (step.sums != nullptr) store_first(sum, d, step.sums + i, left);
    store_first(hn::Add(sum, load_first(d, step.emission + i, left)), d, step.to + i, left);
  });
}

void exp_of_sum(const double* a, const double* b, double c, double* y, std::int64_t count) {
  const Doubles d;
  const DoubleVector constant = hn::Set(d, c);
  each_double_vector(count, [&](std::int64_t i, std::int64_t left) {
    DoubleVector x = load_first(d, a + i, left);
    if (b != nullptr) x = hn::Add(x, load_first(d, b + i, left));
    store_first(hn::Exp(d, hn::Add(x, constant)), d, y + i, left);
  });
}

}  // namespace

extern const CtcTable ctc_table;
constinit const CtcTable ctc_table{log_softmax, step, exp_of_sum};

}  // namespace regard::kernels::REGARD_ISA
