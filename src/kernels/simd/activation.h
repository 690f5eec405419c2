// The activations of kernels::Activation and their derivatives on vectors, used by the epilogues of matrix
// products and by the element-wise kernels. The activation is a template parameter; with_activation() selects
// it once, outside the loop.
#pragma once

#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {

inline constexpr float kQuickGelu = 1.702f;
inline constexpr float kGeluTanhScale = 0.797884561f;  // √(2/π)
inline constexpr float kGeluTanhCube = 0.044715f;

// Return Φ(x) or, with `slope`, the derivative of gelu, Φ(x) + x φ(x). With y = exp(−x²/2) p(|x|), the result
// is y for x < 0 and 1 − y for x ≥ 0. A computation with erf would need two exponentials and two polynomials
// instead of one each.
// The polynomials p are minimax fits of the absolute error for |x| ≤ 6.5. Before rounding, the error is at
// most 6e-8 / |x| for Φ and 2e-8 for the derivative.
template <bool slope, class D>
HWY_INLINE hn::Vec<D> gelu_gate(D d, hn::Vec<D> x) {
  const auto size = at_most<D>(hn::Set(d, 14.0f), hn::Abs(x));  // exp(−14²/2) is flushed to 0
  const auto bell = exp2_flushed(d, hn::Mul(hn::Mul(size, size), hn::Set(d, -0.72134752f)));
  const auto factor = [&] {
    if constexpr (slope)
      return polynomial(d, size, 4.999999827e-01f, -7.978828838e-01f, 2.499730326e-01f, -1.328088415e-01f,
                        6.193226559e-02f, -2.548409501e-02f, 9.014684744e-03f, -2.596070878e-03f,
                        5.657273669e-04f, -8.520932025e-05f, 7.760173101e-06f, -3.181002795e-07f);
    else
      return polynomial(d, size, 4.999999559e-01f, -3.989384500e-01f, 2.499449957e-01f, -1.326711813e-01f,
                        6.159419230e-02f, -2.500954302e-02f, 8.606971655e-03f, -2.375003448e-03f,
                        4.900242434e-04f, -6.937874542e-05f, 5.920016480e-06f, -2.272235109e-07f);
  }();
  const auto below = hn::Mul(bell, factor);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Sub(hn::Set(d, 1.0f), below));
}

template <Activation kind, class D>
HWY_INLINE hn::Vec<D> activation(D d, hn::Vec<D> x) {
  const auto half = hn::Set(d, 0.5f);
  if constexpr (kind == Activation::relu) {
    // relu(NaN) is NaN, as in PyTorch.
    return at_least<D>(hn::Zero(d), x);
  } else if constexpr (kind == Activation::gelu) {
    return hn::Mul(x, gelu_gate<false>(d, x));
  } else if constexpr (kind == Activation::gelu_tanh) {
    const auto cubed = hn::Mul(hn::Mul(x, x), x);
    const auto inner = hn::Mul(hn::Set(d, kGeluTanhScale), hn::MulAdd(cubed, hn::Set(d, kGeluTanhCube), x));
    return hn::Mul(hn::Mul(x, half), hn::Add(hn::Set(d, 1.0f), tanh(d, inner)));
  } else if constexpr (kind == Activation::silu) {
    return hn::Mul(x, sigmoid(d, x));
  } else if constexpr (kind == Activation::tanh) {
    return tanh(d, x);
  } else if constexpr (kind == Activation::sigmoid) {
    return sigmoid(d, x);
  } else if constexpr (kind == Activation::quick_gelu) {
    return hn::Mul(x, sigmoid(d, hn::Mul(x, hn::Set(d, kQuickGelu))));
  } else {
    return x;
  }
}

// Return d activation / dx at x, the value before the activation. relu'(0) = 0.
template <Activation kind, class D>
HWY_INLINE hn::Vec<D> activation_derivative(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto half = hn::Set(d, 0.5f);
  if constexpr (kind == Activation::relu) {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  } else if constexpr (kind == Activation::gelu) {
    return gelu_gate<true>(d, x);
  } else if constexpr (kind == Activation::gelu_tanh) {
    const auto square = hn::Mul(x, x);
    const auto inner =
        hn::Mul(hn::Set(d, kGeluTanhScale), hn::MulAdd(hn::Mul(square, x), hn::Set(d, kGeluTanhCube), x));
    const auto t = tanh(d, inner);
    const auto slope =
        hn::Mul(hn::Set(d, kGeluTanhScale), hn::MulAdd(square, hn::Set(d, 3.0f * kGeluTanhCube), one));
    const auto curve = hn::Mul(hn::Mul(half, x), hn::Mul(hn::NegMulAdd(t, t, one), slope));
    return hn::MulAdd(half, hn::Add(one, t), curve);
  } else if constexpr (kind == Activation::silu || kind == Activation::quick_gelu) {
    const auto factor = hn::Set(d, kind == Activation::silu ? 1.0f : kQuickGelu);
    const auto z = hn::Mul(x, factor);
    const auto s = sigmoid(d, z);
    return hn::Mul(s, hn::MulAdd(z, hn::Sub(one, s), one));
  } else if constexpr (kind == Activation::tanh) {
    const auto t = tanh(d, x);
    return hn::NegMulAdd(t, t, one);
  } else if constexpr (kind == Activation::sigmoid) {
    const auto s = sigmoid(d, x);
    return hn::Mul(s, hn::Sub(one, s));
  } else {
    return one;
  }
}

template <Activation kind>
struct ActivationConstant {
  static constexpr Activation value = kind;
};

// Call body(ActivationConstant<kind>{}), which turns the run-time `kind` into a template argument.
template <class Body>
HWY_INLINE void with_activation(Activation kind, Body&& body) {
  switch (kind) {
    case Activation::none:
      return body(ActivationConstant<Activation::none>{});
    case Activation::relu:
      return body(ActivationConstant<Activation::relu>{});
    case Activation::gelu:
      return body(ActivationConstant<Activation::gelu>{});
    case Activation::gelu_tanh:
      return body(ActivationConstant<Activation::gelu_tanh>{});
    case Activation::silu:
      return body(ActivationConstant<Activation::silu>{});
    case Activation::tanh:
      return body(ActivationConstant<Activation::tanh>{});
    case Activation::sigmoid:
      return body(ActivationConstant<Activation::sigmoid>{});
    case Activation::quick_gelu:
      return body(ActivationConstant<Activation::quick_gelu>{});
  }
}

}  // namespace regard::kernels::REGARD_ISA
