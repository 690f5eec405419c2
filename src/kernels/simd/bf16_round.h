// Conversion between f32 and bf16 with the results of VCVTNE2PS2BF16: to nearest, ties to even; a NaN
// remains a NaN, a subnormal number becomes 0.
#pragma once

#include <cstring>

#include "kernels/simd/gemm_finish.h"

namespace regard::kernels::REGARD_ISA {
namespace {

HWY_INLINE hn::Vec<hn::RebindToSigned<Floats>> bf16_bits(FloatVector x) {
  const hn::RebindToUnsigned<Floats> words;
  const auto constant = [&](std::uint32_t value) { return hn::Set(words, value); };
  auto bits = hn::BitCast(words, x);
  const auto magnitude = hn::And(bits, constant(0x7FFFFFFFu));
  const auto subnormal = hn::Lt(magnitude, constant(0x00800000u));
  bits = hn::IfThenElse(subnormal, hn::And(bits, constant(0x80000000u)), bits);
  const auto last = hn::And(hn::ShiftRight<16>(bits), constant(1u));
  const auto up = hn::Add(bits, hn::Add(constant(0x7FFFu), last));
  const auto nan = hn::Or(bits, constant(0x00400000u));
  const auto result = hn::IfThenElse(hn::Gt(magnitude, constant(0x7F800000u)), nan, up);
  return hn::BitCast(hn::RebindToSigned<Floats>(), hn::ShiftRight<16>(result));
}

// Store the first `count` values to y as bf16.
HWY_INLINE void store_rounded(FloatVector x, std::uint16_t* y, std::int64_t count) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  const auto rounded = hn::DemoteTo(halves, bf16_bits(x));
  if (count >= kLanes) return hn::StoreU(rounded, halves, y);
  std::uint16_t part[kLanes];
  hn::StoreU(rounded, halves, part);
  std::memcpy(y, part, static_cast<std::size_t>(count) * sizeof *y);
}

// Return the first `count` values at x, widened to f32; the other lanes are zero.
HWY_INLINE FloatVector load_stored(const std::uint16_t* x, std::int64_t count) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> words;
  std::uint16_t part[kLanes] = {};
  if (count < kLanes)
    x = static_cast<std::uint16_t*>(std::memcpy(part, x, static_cast<std::size_t>(count) * sizeof *x));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, x))));
}

// Compute y = x, rounded to bf16.
void round_numbers(const float* x, std::uint16_t* y, std::int64_t count) {
  const Floats d;
  for (std::int64_t i = 0; i < count; i += kLanes)
    store_rounded(load_first(d, x + i, count - i), y + i, count - i);
}

// Compute y = x, widened to f32 exactly.
void widen_numbers(const std::uint16_t* x, float* y, std::int64_t count) {
  const Floats d;
  for (std::int64_t i = 0; i < count; i += kLanes)
    store_first(load_stored(x + i, count - i), d, y + i, count - i);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
