// The activations of kernels::Activation and their derivatives, for single values.
#pragma once

#include <cmath>
#include <numbers>

#include "base/namespaces.h"
#include "kernels/gemm.h"

namespace regard::ops::plain {

template <class Real>
Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

template <class Real>
Real activation(kernels::Activation kind, Real x) {
  const Real half = static_cast<Real>(0.5);
  switch (kind) {
    case kernels::Activation::none:
      return x;
    case kernels::Activation::relu:
      return x > 0 ? x : 0;
    case kernels::Activation::gelu:
      return half * x * (1 + std::erf(x / std::numbers::sqrt2_v<Real>));
    case kernels::Activation::gelu_tanh: {
      const Real scale = std::sqrt(2 / std::numbers::pi_v<Real>);
      return half * x * (1 + std::tanh(scale * (x + static_cast<Real>(0.044715) * x * x * x)));
    }
    case kernels::Activation::silu:
      return x * sigmoid(x);
    case kernels::Activation::tanh:
      return std::tanh(x);
    case kernels::Activation::sigmoid:
      return sigmoid(x);
    case kernels::Activation::quick_gelu:
      return x * sigmoid(static_cast<Real>(1.702) * x);
  }
  return x;
}

// Return the derivative at x, the input of the activation.
template <class Real>
Real activation_derivative(kernels::Activation kind, Real x) {
  const Real half = static_cast<Real>(0.5);
  switch (kind) {
    case kernels::Activation::none:
      return 1;
    case kernels::Activation::relu:
      return x > 0 ? 1 : 0;
    case kernels::Activation::gelu:
      return half * (1 + std::erf(x / std::numbers::sqrt2_v<Real>)) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>);
    case kernels::Activation::gelu_tanh: {
      const Real scale = std::sqrt(2 / std::numbers::pi_v<Real>), cube = static_cast<Real>(0.044715);
      const Real t = std::tanh(scale * (x + cube * x * x * x));
      return half * (1 + t) + half * x * (1 - t * t) * scale * (1 + 3 * cube * x * x);
    }
    case kernels::Activation::silu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case kernels::Activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case kernels::Activation::sigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case kernels::Activation::quick_gelu: {
      const Real z = static_cast<Real>(1.702) * x;
      return sigmoid(z) * (1 + z * (1 - sigmoid(z)));
    }
  }
  return 1;
}

}  // namespace regard::ops::plain
