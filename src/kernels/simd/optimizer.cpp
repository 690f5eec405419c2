#include "kernels/optimizer_table.h"
#include "kernels/simd/adam.h"

namespace regard::kernels::REGARD_ISA {
namespace {

HWY_INLINE FloatVector all(double value) {
  return hn::Set(Floats(), static_cast<float>(value));
}

void adam(const AdamW& step, float* weight, const float* gradient, float* first, float* second,
          std::int64_t count) {
  adam_step<false>(step, weight, gradient, first, second, count);
}

// Return scale · gradient + decay · weight, the gradient after clipping and with weight decay.
HWY_INLINE FloatVector penalised(FloatVector gradient, FloatVector scale, FloatVector decay,
                                 FloatVector weight) {
  return hn::MulAdd(decay, weight, hn::Mul(gradient, scale));
}

void sgd(const Sgd& step, float* weight, const float* gradient, float* buffer, std::int64_t count) {
  const Floats d;
  const FloatVector rate = all(step.learning_rate), momentum = all(step.momentum);
  const FloatVector decay = all(step.weight_decay), scale = all(step.gradient_scale);
  const bool nesterov = step.nesterov;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector w = load_first(d, weight + i, left);
    FloatVector direction = penalised(load_first(d, gradient + i, left), scale, decay, w);
    if (buffer != nullptr) {
      const FloatVector sum = hn::MulAdd(momentum, load_first(d, buffer + i, left), direction);
      store_first(sum, d, buffer + i, left);
      direction = nesterov ? hn::MulAdd(momentum, sum, direction) : sum;
    }
    store_first(hn::NegMulAdd(rate, direction, w), d, weight + i, left);
  });
}

void rmsprop(const RmsProp& step, float* weight, const float* gradient, float* square, float* buffer,
             std::int64_t count) {
  const Floats d;
  const FloatVector rate = all(step.learning_rate), momentum = all(step.momentum);
  const FloatVector decay = all(step.weight_decay), scale = all(step.gradient_scale);
  const FloatVector smoothing = all(step.smoothing), rest = all(1.0 - step.smoothing);
  const FloatVector epsilon = all(step.epsilon);
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector w = load_first(d, weight + i, left);
    const FloatVector g = penalised(load_first(d, gradient + i, left), scale, decay, w);
    const FloatVector v =
        hn::MulAdd(smoothing, load_first(d, square + i, left), hn::Mul(rest, hn::Mul(g, g)));
    store_first(v, d, square + i, left);
    // If g = 0, use 0 instead of the quotient, which would be 0 / 0 if every gradient so far was 0 and ε = 0.
    FloatVector update =
        hn::IfThenZeroElse(hn::Eq(g, hn::Zero(d)), hn::Div(g, hn::Add(hn::Sqrt(v), epsilon)));
    if (buffer != nullptr) {
      update = hn::MulAdd(momentum, load_first(d, buffer + i, left), update);
      store_first(update, d, buffer + i, left);
    }
    store_first(hn::NegMulAdd(rate, update, w), d, weight + i, left);
  });
}

void adagrad(const Adagrad& step, float* weight, const float* gradient, float* sum, std::int64_t count) {
  const Floats d;
  const FloatVector rate = all(step.learning_rate), epsilon = all(step.epsilon);
  const FloatVector decay = all(step.weight_decay), scale = all(step.gradient_scale);
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector w = load_first(d, weight + i, left);
    const FloatVector g = penalised(load_first(d, gradient + i, left), scale, decay, w);
    const FloatVector total = hn::MulAdd(g, g, load_first(d, sum + i, left));
    store_first(total, d, sum + i, left);
    const FloatVector update =
        hn::IfThenZeroElse(hn::Eq(g, hn::Zero(d)), hn::Div(g, hn::Add(hn::Sqrt(total), epsilon)));
    store_first(hn::NegMulAdd(rate, update, w), d, weight + i, left);
  });
}

void moving_average(double decay, const float* weight, float* average, std::int64_t count) {
  const Floats d;
  const FloatVector keep = all(decay), rest = all(1.0 - decay);
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector added = hn::Mul(rest, load_first(d, weight + i, left));
    store_first(hn::MulAdd(keep, load_first(d, average + i, left), added), d, average + i, left);
  });
}

}  // namespace

extern const OptimizerTable optimizer_table;
constinit const OptimizerTable optimizer_table{adam, sgd, rmsprop, adagrad, moving_average};

}  // namespace regard::kernels::REGARD_ISA
