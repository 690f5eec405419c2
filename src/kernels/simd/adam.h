// The step of Adam and AdamW.
#pragma once

#include "kernels/rows.h"
#include "kernels/simd/each_vector.h"

namespace regard::kernels::REGARD_ISA {

// Compute one step. m and v are the moving averages of g and g²; c1 and c2 are their bias corrections.
// With kDecoupled, torch.optim.AdamW: w −= lr · decay · w, then w −= lr / c1 · m / (√v / √c2 + ε).
// Without kDecoupled, torch.optim.Adam: g += decay · w, then w −= lr / c1 · m / (√v / √c2 + ε).
template <bool kDecoupled>
HWY_INLINE void adam_step(const AdamW& step, float* weight, const float* gradient, float* first,
                          float* second, std::int64_t count) {
  const Floats d;
  const auto all = [d](double value) { return hn::Set(d, static_cast<float>(value)); };
  const FloatVector keep = all(1.0 - step.learning_rate * step.weight_decay);
  const FloatVector penalty = all(step.weight_decay);
  const FloatVector size = all(step.learning_rate / step.correction1);
  const FloatVector deviation = hn::Div(all(1.0), hn::Sqrt(all(step.correction2)));
  const FloatVector beta1 = all(step.beta1), rest1 = all(1.0 - step.beta1);
  const FloatVector beta2 = all(step.beta2), rest2 = all(1.0 - step.beta2);
  const FloatVector clip = all(step.gradient_scale), epsilon = all(step.epsilon);
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    FloatVector w = load_first(d, weight + i, left);
    FloatVector g = hn::Mul(load_first(d, gradient + i, left), clip);
    if constexpr (!kDecoupled) g = hn::MulAdd(penalty, w, g);
    const FloatVector m = hn::MulAdd(beta1, load_first(d, first + i, left), hn::Mul(rest1, g));
    const FloatVector v = hn::MulAdd(beta2, load_first(d, second + i, left), hn::Mul(rest2, hn::Mul(g, g)));
    const FloatVector divisor = hn::MulAdd(hn::Sqrt(v), deviation, epsilon);
    if constexpr (kDecoupled) w = hn::Mul(w, keep);
    // If m = 0, use 0 instead of the quotient, which would be 0 / 0 if every gradient so far was 0 and ε = 0.
    const FloatVector update = hn::IfThenZeroElse(hn::Eq(m, hn::Zero(d)), hn::Div(m, divisor));
    store_first(m, d, first + i, left);
    store_first(v, d, second + i, left);
    store_first(hn::NegMulAdd(size, update, w), d, weight + i, left);
  });
}

}  // namespace regard::kernels::REGARD_ISA
