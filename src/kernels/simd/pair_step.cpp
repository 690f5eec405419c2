// The inner loops of word-vector training: small matrix products of rows that are scattered in memory. Output
// rows are processed in blocks, so that each load of an input row is used for several products.
#include "kernels/pair_step_table.h"
#include "kernels/simd/masked.h"
#include "kernels/simd/math.h"
#include "kernels/simd/reduce.h"

namespace regard::kernels::REGARD_ISA {
namespace {

constexpr std::int64_t kBlock = 4;

// Compute scores[o] = input · output_o for `Count` output rows.
template <int Count>
HWY_INLINE void dots(const float* input, float* const* output, std::int64_t size, float* scores) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector sum[Count];
  for (FloatVector& one : sum) one = hn::Zero(d);
  std::int64_t at = 0;
  for (; at + lanes <= size; at += lanes) {
    const FloatVector x = hn::LoadU(d, input + at);
    for (int o = 0; o < Count; ++o) sum[o] = hn::MulAdd(x, hn::LoadU(d, output[o] + at), sum[o]);
  }
  if (at < size) {
    const FloatVector x = load_first(d, input + at, size - at);
    for (int o = 0; o < Count; ++o) sum[o] = hn::MulAdd(x, load_first(d, output[o] + at, size - at), sum[o]);
  }
  for (int o = 0; o < Count; ++o) scores[o] = first_lane(hn::SumOfLanes(d, sum[o]));
}

// Compute to += Σ factor_r · row_r for `Count` rows.
template <int Count>
HWY_INLINE void add_rows(float* const* rows, const float* factors, std::int64_t stride, std::int64_t size,
                         float* to) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector factor[Count];
  for (int r = 0; r < Count; ++r) factor[r] = hn::Set(d, factors[r * stride]);
  std::int64_t at = 0;
  for (; at + lanes <= size; at += lanes) {
    FloatVector sum = hn::LoadU(d, to + at);
    for (int r = 0; r < Count; ++r) sum = hn::MulAdd(factor[r], hn::LoadU(d, rows[r] + at), sum);
    hn::StoreU(sum, d, to + at);
  }
  if (at < size) {
    FloatVector sum = load_first(d, to + at, size - at);
    for (int r = 0; r < Count; ++r) sum = hn::MulAdd(factor[r], load_first(d, rows[r] + at, size - at), sum);
    store_first(sum, d, to + at, size - at);
  }
}

HWY_INLINE void add_all_rows(float* const* rows, std::int64_t count, const float* factors,
                             std::int64_t stride, std::int64_t size, float* to) {
  std::int64_t r = 0;
  for (; r + kBlock <= count; r += kBlock) add_rows<kBlock>(rows + r, factors + r * stride, stride, size, to);
  switch (count - r) {
    case 3:
      return add_rows<3>(rows + r, factors + r * stride, stride, size, to);
    case 2:
      return add_rows<2>(rows + r, factors + r * stride, stride, size, to);
    case 1:
      return add_rows<1>(rows + r, factors + r * stride, stride, size, to);
    default:
      return;
  }
}

HWY_INLINE void all_dots(const float* input, float* const* output, std::int64_t count, std::int64_t size,
                         float* scores) {
  std::int64_t o = 0;
  for (; o + kBlock <= count; o += kBlock) dots<kBlock>(input, output + o, size, scores + o);
  switch (count - o) {
    case 3:
      return dots<3>(input, output + o, size, scores + o);
    case 2:
      return dots<2>(input, output + o, size, scores + o);
    case 1:
      return dots<1>(input, output + o, size, scores + o);
    default:
      return;
  }
}

// Return the sum of losses: −log σ(s) for label 1, −log σ(−s) for label 0, as log(1 + e^−|s|) + max(∓s, 0).
HWY_INLINE float loss_of(const float* scores, const float* label, std::int64_t count) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector sum = hn::Zero(d);
  for (std::int64_t o = 0; o < count; o += lanes) {
    const FloatVector s = load_first(d, scores + o, count - o), y = load_first(d, label + o, count - o);
    const FloatVector towards = hn::Mul(s, hn::MulAdd(y, hn::Set(d, 2.0f), hn::Set(d, -1.0f)));
    const FloatVector tail = log(d, hn::Add(hn::Set(d, 1.0f), exp(d, hn::Neg(hn::Abs(s)))));
    sum = hn::Add(sum, or_zero(hn::Add(tail, hn::Max(hn::Neg(towards), hn::Zero(d))), count - o));
  }
  return first_lane(hn::SumOfLanes(d, sum));
}

// Replace each score s with (label − σ(s)) · rate.
HWY_INLINE void factors_of(float* scores, const float* label, std::int64_t count, float rate) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t o = 0; o < count; o += lanes) {
    const FloatVector error =
        hn::Sub(load_first(d, label + o, count - o), sigmoid(d, load_first(d, scores + o, count - o)));
    store_first(hn::Mul(error, hn::Set(d, rate)), d, scores + o, count - o);
  }
}

// Compute pair_step() for any number of rows, repeated or not. The input rows are first copied, because both
// updates use the values before the step.
void step_of_any(const PairStep& step) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t size = step.size, outputs = step.outputs, inputs = step.inputs;
  const std::int64_t stride = (size + 15) / 16 * 16;
  float* factors = step.scratch;                         // [inputs, outputs]
  float* old = step.scratch + kMaxInputs * kMaxOutputs;  // [inputs, stride]: the input rows before the step
  float* before[kMaxInputs];
  for (std::int64_t i = 0; i < inputs; ++i) {
    float* row = factors + i * outputs;
    all_dots(step.input[i], step.output, outputs, size, row);
    if (step.loss != nullptr) *step.loss += loss_of(row, step.label, outputs);
    factors_of(row, step.label, outputs, step.rate);
    before[i] = old + i * stride;
    for (std::int64_t at = 0; at < size; at += lanes)
      store_first(load_first(d, step.input[i] + at, size - at), d, before[i] + at, size - at);
  }
  for (std::int64_t i = 0; i < inputs; ++i)
    add_all_rows(step.output, outputs, factors + i * outputs, 1, size, step.input[i]);
  for (std::int64_t o = 0; o < outputs; ++o)
    add_all_rows(before, inputs, factors + o, outputs, size, step.output[o]);
}

// Add the upper half of a vector to the lower half repeatedly, until four lanes are left.
template <class D>
HWY_INLINE auto folded(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return folded(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// For each of `count` ≤ 4 vectors, write the sum of its lanes to `to`.
HWY_INLINE void sums_of_lanes(const FloatVector* v, int count, float* to) {
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  const FloatVector zero = hn::Zero(d);
  const FloatVector a = v[0], b = count > 1 ? v[1] : zero, c = count > 2 ? v[2] : zero,
                    e = count > 3 ? v[3] : zero;
  // In each 128-bit block, `ab` contains a0 + a2, b0 + b2, a1 + a3, b1 + b3, where a0 is lane 0 of `a`. The
  // result contains the sums of the four lanes of a, b, c and e.
  const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const FloatVector sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                                   hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  store_first(folded(d, sums), hn::FixedTag<float, 4>(), to, count);
}

// Compute scores[i, o] = input_i · output_o for `Inputs` input rows and `Outputs` output rows.
template <int Inputs, int Outputs>
HWY_INLINE void block_of_dots(float* const* input, float* const* output, std::int64_t size, float* scores) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr int kCount = Inputs * Outputs;
  FloatVector sum[kCount];
  for (FloatVector& one : sum) one = hn::Zero(d);
  for (std::int64_t at = 0; at < size; at += lanes) {
    FloatVector x[Inputs];
    for (int i = 0; i < Inputs; ++i) x[i] = load_first(d, input[i] + at, size - at);
    for (int o = 0; o < Outputs; ++o) {
      const FloatVector y = load_first(d, output[o] + at, size - at);
      for (int i = 0; i < Inputs; ++i) sum[i * Outputs + o] = hn::MulAdd(x[i], y, sum[i * Outputs + o]);
    }
  }
  for (int at = 0; at < kCount; at += 4)
    sums_of_lanes(sum + at, kCount - at < 4 ? kCount - at : 4, scores + at);
}

// Update input and output rows together, one vector of columns at a time. The output rows and their updates
// stay in registers during the loop over input rows.
template <int Outputs>
HWY_INLINE void add_both(const PairStep& step, const float* factors) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t at = 0; at < step.size; at += lanes) {
    const std::int64_t left = step.size - at;
    FloatVector row[Outputs], more[Outputs];
    for (int o = 0; o < Outputs; ++o) {
      row[o] = load_first(d, step.output[o] + at, left);
      more[o] = hn::Zero(d);
    }
    for (std::int64_t i = 0; i < step.inputs; ++i) {
      const FloatVector x = load_first(d, step.input[i] + at, left);
      FloatVector sum = x;
      for (int o = 0; o < Outputs; ++o) {
        const FloatVector factor = hn::Set(d, factors[i * Outputs + o]);
        sum = hn::MulAdd(factor, row[o], sum);
        more[o] = hn::MulAdd(factor, x, more[o]);
      }
      store_first(sum, d, step.input[i] + at, left);
    }
    for (int o = 0; o < Outputs; ++o)  // load the row again, because rows may repeat
      store_first(hn::Add(load_first(d, step.output[o] + at, left), more[o]), d, step.output[o] + at, left);
  }
}

// Compute pair_step() for few output rows and no repeated input row.
template <int Outputs>
void step_of_few(const PairStep& step) {
  float* factors = step.scratch;                            // [inputs, Outputs]
  float* labels = step.scratch + kMaxInputs * kMaxOutputs;  // [inputs, Outputs]
  for (std::int64_t i = 0; i < step.inputs; ++i)
    std::memcpy(labels + i * Outputs, step.label, Outputs * sizeof(float));
  std::int64_t i = 0;
  for (; i + 2 <= step.inputs; i += 2)
    block_of_dots<2, Outputs>(step.input + i, step.output, step.size, factors + i * Outputs);
  if (i < step.inputs)
    block_of_dots<1, Outputs>(step.input + i, step.output, step.size, factors + i * Outputs);
  if (step.loss != nullptr) *step.loss += loss_of(factors, labels, step.inputs * Outputs);
  factors_of(factors, labels, step.inputs * Outputs, step.rate);
  add_both<Outputs>(step, factors);
}

bool repeats(float* const* rows, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i)
    for (std::int64_t other = 0; other < i; ++other)
      if (rows[i] == rows[other]) return true;
  return false;
}

void pair_step(const PairStep& step) {
  if (step.outputs > 6 || repeats(step.input, step.inputs)) return step_of_any(step);
  switch (step.outputs) {
    case 6:
      return step_of_few<6>(step);
    case 5:
      return step_of_few<5>(step);
    case 4:
      return step_of_few<4>(step);
    case 3:
      return step_of_few<3>(step);
    case 2:
      return step_of_few<2>(step);
    default:
      return step_of_few<1>(step);
  }
}

// The bias is the last element of a row. It is added to the score, as if it were multiplied by 1.
float glove_step(const GloveStep& step) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t size = step.size;
  float* words[1] = {step.context};
  float product;
  all_dots(step.word, words, 1, size, &product);
  const float difference = product + step.word[size] + step.context[size] - step.log_count;
  const float weighted = step.weight * difference;
  const FloatVector factor = hn::Set(d, weighted), rate = hn::Set(d, step.rate);
  for (std::int64_t at = 0; at <= size; at += lanes) {
    const std::int64_t left = size + 1 - at;
    const FloatVector w = load_first(d, step.word + at, left), c = load_first(d, step.context + at, left);
    // The gradient of `word` is factor · context, and the gradient of `context` is factor · word. The
    // gradient of each bias is the factor.
    const auto is_bias = hn::Eq(hn::Iota(d, static_cast<float>(at)), hn::Set(d, static_cast<float>(size)));
    const FloatVector one = hn::Set(d, 1.0f);
    const FloatVector gradient_w = hn::Mul(factor, hn::IfThenElse(is_bias, one, c));
    const FloatVector gradient_c = hn::Mul(factor, hn::IfThenElse(is_bias, one, w));
    const FloatVector squares_w = load_first(d, step.word_squares + at, left);
    const FloatVector squares_c = load_first(d, step.context_squares + at, left);
    const auto stepped = [&](FloatVector value, FloatVector gradient, FloatVector squares) {
      return hn::Sub(value, hn::Div(hn::Mul(rate, gradient), hn::Sqrt(squares)));
    };
    store_first(stepped(w, gradient_w, squares_w), d, step.word + at, left);
    store_first(stepped(c, gradient_c, squares_c), d, step.context + at, left);
    store_first(hn::MulAdd(gradient_w, gradient_w, squares_w), d, step.word_squares + at, left);
    store_first(hn::MulAdd(gradient_c, gradient_c, squares_c), d, step.context_squares + at, left);
  }
  return 0.5f * weighted * difference;
}

}  // namespace

extern const PairStepTable pair_step_table;
constinit const PairStepTable pair_step_table{pair_step, glove_step};

}  // namespace regard::kernels::REGARD_ISA
