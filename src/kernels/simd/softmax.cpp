#include "kernels/simd/math.h"
#include "kernels/simd/reduce.h"
#include "kernels/softmax_table.h"

namespace regard::kernels::REGARD_ISA {
namespace {

HWY_INLINE FloatVector row_maximum(const float* x, std::int64_t columns) {
  const Floats d;
  RowMaximum maximum;
  for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
    maximum.add(which, or_lowest(load_first(d, x + i, count), count));
  });
  return maximum.total();
}

// Return the value subtracted before exp: the maximum, or 0 if the whole row is −∞, so that exp gives zeros.
HWY_INLINE FloatVector safe_shift(FloatVector maximum) {
  return hn::IfThenZeroElse(hn::Eq(maximum, hn::Neg(hn::Inf(Floats()))), maximum);
}

HWY_INLINE FloatVector sum_of_exp(const float* x, FloatVector shift, std::int64_t columns) {
  const Floats d;
  RowSum sum;
  for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
    sum.add(which, or_zero(exp_flushed(d, hn::Sub(load_first(d, x + i, count), shift)), count));
  });
  return sum.total();
}

// Return the log-sum-exp of a row in every lane; −∞ for a row of −∞.
HWY_INLINE FloatVector log_sum_exp(const float* x, std::int64_t columns) {
  const Floats d;
  const FloatVector shift = safe_shift(row_maximum(x, columns));
  return hn::Add(shift, log(d, sum_of_exp(x, shift, columns)));
}

void log_sum_exp(const float* x, float* lse, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    lse[row] = first_lane(log_sum_exp(x + row * columns, columns));
}

// Skip each vector without an element larger than the smallest of the k entries found so far. Process the
// other vectors element by element. This is fast, because few entries of a long row are among the k largest.
void top_k(const float* x, std::int64_t columns, std::int64_t k, float* values, std::int32_t* indices) {
  if (k <= 0) return;
  const Floats d;
  const float lowest = first_lane(hn::Neg(hn::Inf(d)));
  for (std::int64_t i = 0; i < k; ++i) values[i] = lowest, indices[i] = -1;
  const auto keep = [&](std::int64_t column) {
    const float value = x[column];
    if (!(value > values[k - 1])) return;
    std::int64_t place = k - 1;
    for (; place > 0 && value > values[place - 1]; --place) {
      values[place] = values[place - 1];
      indices[place] = indices[place - 1];
    }
    values[place] = value;
    indices[place] = static_cast<std::int32_t>(column);
  };
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < columns; i += lanes) {
    const std::int64_t count = columns - i < lanes ? columns - i : lanes;
    const FloatVector block = or_lowest(load_first(d, x + i, count), count);
    if (hn::AllFalse(d, hn::Gt(block, hn::Set(d, values[k - 1])))) continue;
    for (std::int64_t column = i; column < i + count; ++column) keep(column);
  }
}

void softmax(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  const Floats d;
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const FloatVector shift = safe_shift(row_maximum(x, columns));
    RowSum sum;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      const FloatVector power = or_zero(exp_flushed(d, hn::Sub(load_first(d, x + i, count), shift)), count);
      sum.add(which, power);
      store_first(power, d, y + i, count);
    });
    const FloatVector total = sum.total();
    const FloatVector inverse =
        hn::IfThenZeroElse(hn::Eq(total, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), total));
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
      store_first(hn::Mul(load_first(d, y + i, count), inverse), d, y + i, count);
    });
  }
}

void softmax_backward(const float* y, const float* dy, float* dx, std::int64_t rows, std::int64_t columns) {
  const Floats d;
  for (std::int64_t row = 0; row < rows; ++row, y += columns, dy += columns, dx += columns) {
    RowSum sum;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      sum.add_product(which, load_first(d, y + i, count), load_first(d, dy + i, count));
    });
    const FloatVector dot = sum.total();
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
      const FloatVector centred = hn::Sub(load_first(d, dy + i, count), dot);
      store_first(hn::Mul(load_first(d, y + i, count), centred), d, dx + i, count);
    });
  }
}

void log_softmax(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  const Floats d;
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    // Subtract maximum and logarithm separately, because their sum would lose digits of the logarithm if the
    // maximum is large. safe_shift() avoids −∞ − (−∞) = NaN, so a row of −∞ stays −∞.
    const FloatVector shift = safe_shift(row_maximum(x, columns));
    const FloatVector logarithm = safe_shift(log(d, sum_of_exp(x, shift, columns)));
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
      store_first(hn::Sub(hn::Sub(load_first(d, x + i, count), shift), logarithm), d, y + i, count);
    });
  }
}

void log_softmax_backward(const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns) {
  const Floats d;
  for (std::int64_t row = 0; row < rows; ++row, y += columns, dy += columns, dx += columns) {
    RowSum sum;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      sum.add(which, load_first(d, dy + i, count));
    });
    const FloatVector total = sum.total();
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
      const FloatVector power = exp_flushed(d, load_first(d, y + i, count));
      store_first(hn::NegMulAdd(power, total, load_first(d, dy + i, count)), d, dx + i, count);
    });
  }
}

void cross_entropy(const CrossEntropyRows& problem) {
  const Floats d;
  const std::int64_t classes = problem.classes;
  const float* x = problem.logits;
  for (std::int64_t row = 0; row < problem.rows; ++row, x += classes) {
    const FloatVector lse = log_sum_exp(x, classes);
    problem.lse[row] = first_lane(lse);
    const std::int32_t target = problem.targets[row];
    if (target == problem.ignore_index) {
      problem.loss[row] = 0.0f;
      continue;
    }
    float loss = problem.lse[row] - x[target];
    if (problem.label_smoothing != 0.0f) {
      // Sum lse − x instead of x, because a sum of large logits would lose the small differences.
      RowSum sum;
      for_vectors(classes, [&](std::int64_t i, std::int64_t count, int which) {
        sum.add(which, or_zero(hn::Sub(lse, load_first(d, x + i, count)), count));
      });
      const float mean = first_lane(sum.total()) / static_cast<float>(classes);
      loss = (1.0f - problem.label_smoothing) * loss + problem.label_smoothing * mean;
    }
    problem.loss[row] = loss;
  }
}

void cross_entropy_backward(const CrossEntropyRows& problem) {
  const Floats d;
  const std::int64_t classes = problem.classes;
  const FloatVector uniform = hn::Set(d, problem.label_smoothing / static_cast<float>(classes));
  const FloatVector factor = hn::Set(d, problem.factor);
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const float* x = problem.logits + row * classes;
    float* dx = problem.gradient + row * classes;
    const std::int32_t target = problem.targets[row];
    if (target == problem.ignore_index) {
      for_vectors(classes, [&](std::int64_t i, std::int64_t count, int) {
        store_first(hn::Zero(d), d, dx + i, count);
      });
      continue;
    }
    const FloatVector lse = hn::Set(d, problem.known_lse[row]);
    for_vectors(classes, [&](std::int64_t i, std::int64_t count, int) {
      const FloatVector p = exp_flushed(d, hn::Sub(load_first(d, x + i, count), lse));
      store_first(hn::Mul(factor, hn::Sub(p, uniform)), d, dx + i, count);
    });
    dx[target] -= problem.factor * (1.0f - problem.label_smoothing);
  }
}

}  // namespace

extern const SoftmaxTable softmax_table;
constinit const SoftmaxTable softmax_table{
    softmax, softmax_backward, log_softmax,           log_softmax_backward, log_sum_exp,
    top_k,   cross_entropy,    cross_entropy_backward};

}  // namespace regard::kernels::REGARD_ISA
