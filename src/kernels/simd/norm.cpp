#include "kernels/norm_table.h"
#include "kernels/simd/reduce.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Return gain + offset, or 1 if gain is null.
HWY_INLINE FloatVector load_gain(const float* gain, float offset, std::int64_t i, std::int64_t count) {
  const Floats d;
  return gain == nullptr ? hn::Set(d, 1.0f) : hn::Add(load_first(d, gain + i, count), hn::Set(d, offset));
}

struct RowStatistics {
  FloatVector mean, inverse_deviation;
};

// Compute the statistics in two passes over a row, which stays in the L1 cache: first the mean, then the
// squared deviations from it.
HWY_INLINE RowStatistics statistics(const float* x, std::int64_t columns, bool rms, float epsilon) {
  const Floats d;
  const FloatVector size = hn::Set(d, static_cast<float>(columns));
  FloatVector mean = hn::Zero(d);
  if (!rms) {
    RowSum sum;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      sum.add(which, load_first(d, x + i, count));
    });
    mean = hn::Div(sum.total(), size);
  }
  RowSum squares;
  for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
    const FloatVector centred = or_zero(hn::Sub(load_first(d, x + i, count), mean), count);
    squares.add_product(which, centred, centred);
  });
  const FloatVector variance = hn::Div(squares.total(), size);
  return {mean, hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon))))};
}

void norm(const Norm& problem, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t columns = problem.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = problem.x + row * columns;
    const auto [mean, inverse] = statistics(x, columns, problem.rms, problem.epsilon);
    if (problem.mean != nullptr && !problem.rms) problem.mean[row] = first_lane(mean);
    if (problem.inverse_deviation != nullptr) problem.inverse_deviation[row] = first_lane(inverse);
    float* y = problem.y + row * columns;
    for_vectors(columns, [&, mean = mean, inverse = inverse](std::int64_t i, std::int64_t count, int) {
      const FloatVector normed = hn::Mul(hn::Sub(load_first(d, x + i, count), mean), inverse);
      const FloatVector bias = problem.bias == nullptr ? hn::Zero(d) : load_first(d, problem.bias + i, count);
      store_first(hn::MulAdd(normed, load_gain(problem.gain, problem.gain_offset, i, count), bias), d, y + i,
                  count);
    });
  }
}

HWY_INLINE void add_to(float* sum, FloatVector value, std::int64_t count) {
  const Floats d;
  store_first(hn::Add(load_first(d, sum, count), value), d, sum, count);
}

// With g = dy ∘ gain and n the normalised row, compute dx = (g − mean(g) − n mean(g n)) / deviation; the RMS
// norm omits mean(g). The row stays in the L1 cache between the two loops.
void norm_backward(const NormBackward& problem, std::int64_t begin, std::int64_t end, float* gain_sum,
                   float* bias_sum) {
  const Floats d;
  const std::int64_t columns = problem.columns;
  const FloatVector size = hn::Set(d, static_cast<float>(columns));
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = problem.x + row * columns;
    const float* dy = problem.dy + row * columns;
    float* dx = problem.dx + row * columns;
    const FloatVector mean = problem.rms ? hn::Zero(d) : hn::Set(d, problem.mean[row]);
    const FloatVector inverse = hn::Set(d, problem.inverse_deviation[row]);
    RowSum sum, product;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      const FloatVector normed = hn::Mul(hn::Sub(load_first(d, x + i, count), mean), inverse);
      const FloatVector out = load_first(d, dy + i, count);
      // Lanes beyond the row's end are zero in `out`, so they add nothing to the sums.
      const FloatVector g = hn::Mul(out, load_gain(problem.gain, problem.gain_offset, i, count));
      sum.add(which, g);
      product.add_product(which, g, normed);
      if (gain_sum != nullptr) add_to(gain_sum + i, hn::Mul(out, normed), count);
      if (bias_sum != nullptr) add_to(bias_sum + i, out, count);
    });
    const FloatVector mean_g = problem.rms ? hn::Zero(d) : hn::Div(sum.total(), size);
    const FloatVector mean_product = hn::Div(product.total(), size);
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
      const FloatVector normed = hn::Mul(hn::Sub(load_first(d, x + i, count), mean), inverse);
      const FloatVector g =
          hn::Mul(load_first(d, dy + i, count), load_gain(problem.gain, problem.gain_offset, i, count));
      const FloatVector value = hn::Mul(inverse, hn::NegMulAdd(normed, mean_product, hn::Sub(g, mean_g)));
      if (problem.accumulate_dx) {
        add_to(dx + i, value, count);
      } else {
        store_first(value, d, dx + i, count);
      }
    });
  }
}

void sum_rows(const float* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sum) {
  const Floats d;
  for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
    FloatVector total = load_first(d, sum + i, count);
    for (std::int64_t row = 0; row < rows; ++row)
      total = hn::Add(total, load_first(d, dy + row * stride + i, count));
    store_first(total, d, sum + i, count);
  });
}

}  // namespace

extern const NormTable norm_table;
constinit const NormTable norm_table{norm, norm_backward, sum_rows};

}  // namespace regard::kernels::REGARD_ISA
