// Elementary functions on vectors of f32, for files in src/kernels/simd/ only: this header is compiled once
// per instruction set. Errors are the largest found over dense ranges (tests/kernels/vector_math_test.cpp).
//
//   exp             1.1 ulp, denormal results included; exp(0) = 1 exactly, exp(−∞) = 0, exp(89) = ∞
//   exp_flushed     as exp for −87 ≤ x ≤ 88, and 0 below −87; cheaper
//   exp2_flushed    2 ulp for −126 ≤ x ≤ 127; exp2(0) = 1, 0 below −126.5 and for −∞; two operations
//                   fewer than exp_flushed
//   exp_of_difference  2 ulp + |x| · 9e-8 of the result for −87 ≤ x ≤ 0; exp(0) = 1, exp(−∞) = 0;
//                   below −87.7 it is 0 or, with AVX-512, the denormal
//   log             1 ulp, denormal arguments included; log(0) = −∞, NaN for negative arguments
//   tanh            2 ulp
//   erf             2 ulp
//   sigmoid         3 ulp, also for the smallest results
// NaN gives NaN. The polynomials are minimax fits of the relative error on these intervals.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/gemm.h"

namespace regard::kernels::REGARD_ISA {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of the instruction set's full width.
using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

// Return the polynomial c0 + c1 x + c2 x² + …
template <class D>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D>, float c0) {
  return hn::Set(d, c0);
}
template <class D, class... Rest>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, float c0, Rest... rest) {
  return hn::MulAdd(polynomial(d, x, rest...), x, hn::Set(d, c0));
}

// at_least returns the larger of bound and x, at_most the smaller; both return NaN if x is NaN. The x86
// instructions do this if the bound is the first operand; the arm64 instructions need an extra step.
template <class D>
HWY_INLINE hn::Vec<D> at_least(hn::Vec<D> bound, hn::Vec<D> x) {
  return HWY_ARCH_X86 ? hn::Max(bound, x) : hn::IfThenElse(hn::Gt(bound, x), bound, x);
}
template <class D>
HWY_INLINE hn::Vec<D> at_most(hn::Vec<D> bound, hn::Vec<D> x) {
  return HWY_ARCH_X86 ? hn::Min(bound, x) : hn::IfThenElse(hn::Lt(bound, x), bound, x);
}

namespace detail {

// Adding this constant to x, |x| ≤ 127, leaves round(x) + 127 in the low bits of the sum.
constexpr float kRounding = 12583039.0f;  // the value 1.5 · 2²³ + 127

// The reduced argument: x = n ln 2 + r with |r| ≤ ln 2 / 2. The rounding constant leaves n + 127 in the low
// bits of `shifted`.
template <class D>
struct Reduced {
  hn::Vec<D> shifted, n, power;  // power = exp(r)
};

template <class D>
HWY_INLINE Reduced<D> reduce_exp(D d, hn::Vec<D> x) {
  const auto rounding = hn::Set(d, kRounding);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), rounding);
  const auto n = hn::Sub(shifted, rounding);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145752f), x);  // ln 2 in 16 bits, so the product with n is exact
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), r);
  const auto q = polynomial(d, r, 4.999999404e-01f, 1.666652113e-01f, 4.166838899e-02f, 8.368718438e-03f,
                            1.381458598e-03f);
  return {shifted, n, hn::Add(hn::Set(d, 1.0f), hn::MulAdd(hn::Mul(r, r), q, r))};
}

// Return value · 2ⁿ; the low bits of `shifted` contain n + 127.
template <class D>
HWY_INLINE hn::Vec<D> scaled(D d, hn::Vec<D> value, hn::Vec<D> shifted) {
  const hn::RebindToUnsigned<D> bits;
  return hn::Mul(value, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted))));
}

// Return 2ᶠ for |f| ≤ ½.
template <class D>
HWY_INLINE hn::Vec<D> power_of_two(D d, hn::Vec<D> f) {
  return polynomial(d, f, 1.0f, 6.931470037e-01f, 2.402224690e-01f, 5.550711229e-02f, 9.671296924e-03f,
                    1.326943398e-03f);
}

}  // namespace detail

template <class D>
HWY_INLINE hn::Vec<D> exp_flushed(D d, hn::Vec<D> x) {
  const auto reduced = detail::reduce_exp(d, x);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), detail::scaled(d, reduced.power, reduced.shifted));
}

// Return 2ˣ, for attention weights, whose scale includes the factor log2(e).
template <class D>
HWY_INLINE hn::Vec<D> exp2_flushed(D d, hn::Vec<D> x) {
  const auto rounding = hn::Set(d, detail::kRounding);
  x = at_least<D>(hn::Set(d, -127.0f), x);  // at x = −127, all exponent bits are 0, and so is the result
  const auto shifted = hn::Add(x, rounding);
  const auto f = hn::Sub(x, hn::Sub(shifted, rounding));
  return detail::scaled(d, detail::power_of_two(d, f), shifted);
}

// Return eˣ, for sums of many exponentials. The function is cheaper than exp_flushed(), because it multiplies
// by a rounded log2(e) instead of subtracting n ln 2 in two parts. The error therefore grows with |x|.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_difference(D d, hn::Vec<D> x) {
  const auto log2e = hn::Set(d, 1.44269504f);
#if HWY_TARGET == HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16) {
    x = hn::Mul(x, log2e);
    const hn::Vec<D> f{_mm512_reduce_ps(x.raw, 0)};
    return hn::Vec<D>{_mm512_scalef_ps(detail::power_of_two(d, f).raw, hn::Sub(x, f).raw)};
  }
#endif
  const auto rounding = hn::Set(d, detail::kRounding);
  x = at_least<D>(hn::Set(d, -88.0f), x);  // limit x: below −126.5 ln 2 the result is 0, as in exp2_flushed()
  const auto shifted = hn::MulAdd(x, log2e, rounding);
  const auto f = hn::MulSub(x, log2e, hn::Sub(shifted, rounding));
  return detail::scaled(d, detail::power_of_two(d, f), shifted);
}

template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  x = at_least<D>(hn::Set(d, -105.0f), at_most<D>(hn::Set(d, 89.0f), x));
  const auto reduced = detail::reduce_exp(d, x);
#if HWY_TARGET == HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16)
    return hn::Vec<D>{_mm512_scalef_ps(reduced.power.raw, reduced.n.raw)};
#endif
  // Multiply by 2ⁿ as two factors, because n is outside the exponent range if the result is denormal or
  // infinite.
  const hn::RebindToSigned<D> integers;
  const auto n = hn::ConvertTo(integers, reduced.n);
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(integers, 127);
  const auto first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  return hn::Mul(hn::Mul(reduced.power, first), second);
}

template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> integers;
  const auto denormal = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const auto scaled = hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, 33554432.0f)), x);
  // Compute the exponent relative to √½, so that the mantissa is in [√½, √2).
  const auto from_root = hn::Sub(hn::BitCast(integers, scaled), hn::Set(integers, 0x3F3504F3));
  auto exponent = hn::ConvertTo(d, hn::ShiftRight<23>(from_root));
  exponent = hn::Sub(exponent, hn::IfThenElseZero(denormal, hn::Set(d, 25.0f)));
  const auto mantissa = hn::BitCast(
      d, hn::Add(hn::And(from_root, hn::Set(integers, 0x007FFFFF)), hn::Set(integers, 0x3F3504F3)));
  const auto f = hn::Sub(mantissa, hn::Set(d, 1.0f));
  const auto square = hn::Mul(f, f);
  const auto q =
      polynomial(d, f, 3.333331347e-01f, -2.500000894e-01f, 2.000211924e-01f, -1.666799486e-01f,
                 1.421954334e-01f, -1.240559742e-01f, 1.188823208e-01f, -1.167562380e-01f, 6.746454537e-02f);
  auto y = hn::MulAdd(hn::Mul(f, square), q, hn::Mul(exponent, hn::Set(d, 1.42860677e-6f)));
  y = hn::Add(f, hn::MulAdd(square, hn::Set(d, -0.5f), y));
  y = hn::MulAdd(exponent, hn::Set(d, 0.693145752f), y);
  const auto infinity = hn::Inf(d);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  // Negative x and NaN give NaN.
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, hn::NaN(d));
}

template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
  const auto size = hn::Abs(x);
  const auto square = hn::Mul(x, x);
  const auto q = polynomial(d, square, -3.333331645e-01f, 1.333258599e-01f, -5.385230109e-02f,
                            2.107165009e-02f, -6.274201442e-03f);
  const auto small = hn::MulAdd(hn::Mul(size, square), q, size);
  const auto capped = at_most<D>(hn::Set(d, 10.0f), size);
  const auto power = exp_flushed(d, hn::Add(capped, capped));
  const auto one = hn::Set(d, 1.0f);
  const auto large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.55f)), small, large), x);
}

// erf(x) is x + x q(x²) for |x| < 0.9, otherwise sign(x) (1 − exp(−p(|x|))). q and p are polynomials; p is
// fitted to −log erfc.
template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
  const auto size = at_most<D>(hn::Set(d, 4.0f), hn::Abs(x));
  const auto q = polynomial(d, hn::Mul(size, size), 1.283791661e-01f, -3.761263490e-01f, 1.128371507e-01f,
                            -2.686050907e-02f, 5.203858949e-03f, -8.175636176e-04f, 8.513090143e-05f);
  const auto small = hn::MulAdd(size, q, size);
  const auto p = polynomial(d, size, -1.692113874e-04f, 1.129488468e+00f, 6.334007978e-01f, 1.082204655e-01f,
                            -2.508067340e-02f, 4.156277981e-03f, -4.313986574e-04f, 2.082908759e-05f);
  const auto large = hn::Sub(hn::Set(d, 1.0f), exp_flushed(d, hn::Neg(p)));
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.9f)), small, large), x);
}

template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  const auto power = exp(d, hn::Neg(hn::Abs(x)));
  const auto upper = hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), power));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(power, upper), upper);
}

}  // namespace regard::kernels::REGARD_ISA
