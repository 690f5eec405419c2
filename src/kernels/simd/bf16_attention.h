// The rows of bf16 attention between its products.
#pragma once

#include "kernels/bf16_table.h"
#include "kernels/simd/bf16_round.h"
#include "kernels/simd/reduce.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Store the first `count` values to y as bf16.
HWY_INLINE void store_rounded(FloatVector x, std::uint16_t* y, std::int64_t count) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  const auto rounded = hn::DemoteTo(halves, bf16_bits(x));
  if (count >= kLanes) return hn::StoreU(rounded, halves, y);
  std::uint16_t part[kLanes];
  hn::StoreU(rounded, halves, part);
  std::memcpy(y, part, static_cast<std::size_t>(count) * sizeof *y);
}

void clear_rest(const Bf16ScoreRow& row) {
  std::memset(row.rounded + row.count, 0,
              static_cast<std::size_t>(row.padded - row.count) * sizeof(std::uint16_t));
}

// rounded = exp(scale · s − m), m = max(scale · s); returns m and the sum of the exponentials.
Bf16RowSum softmax_row(const Bf16ScoreRow& row) {
  const Floats d;
  clear_rest(row);
  if (row.count <= 0) return {};
  const FloatVector scale = hn::Set(d, row.scale);
  RowMaximum maximum;
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int which) {
    maximum.add(which, or_lowest(hn::Mul(load_first(d, row.scores + i, count), scale), count));
  });
  const FloatVector most = maximum.total();
  RowSum sum;
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int which) {
    const FloatVector score = hn::Mul(load_first(d, row.scores + i, count), scale);
    const FloatVector weight = or_zero(exp(d, hn::Sub(score, most)), count);
    sum.add(which, weight);
    store_rounded(weight, row.rounded + i, count);
  });
  return {first_lane(most), first_lane(sum.total())};
}

// scores = rounded = exp(scale · s − lse)
void weights_row(const Bf16ScoreRow& row, float lse) {
  const Floats d;
  clear_rest(row);
  const FloatVector scale = hn::Set(d, row.scale), sum = hn::Set(d, lse);
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int) {
    const FloatVector score = hn::Mul(load_first(d, row.scores + i, count), scale);
    const FloatVector weight = exp(d, hn::Sub(score, sum));
    store_first(weight, d, row.scores + i, count);
    store_rounded(weight, row.rounded + i, count);
  });
}

// rounded = scale · w (dw − delta), the gradient of the scores; w from weights_row().
void score_gradient_row(const Bf16ScoreRow& row, const float* weight_gradient, float delta) {
  const Floats d;
  clear_rest(row);
  const FloatVector scale = hn::Set(d, row.scale), mean = hn::Set(d, delta);
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int) {
    const FloatVector difference = hn::Sub(load_first(d, weight_gradient + i, count), mean);
    const FloatVector weight = hn::Mul(load_first(d, row.scores + i, count), scale);
    store_rounded(hn::Mul(weight, difference), row.rounded + i, count);
  });
}

// Σ x y, y in bf16
float product_sum(const float* x, const std::uint16_t* y, std::int64_t size) {
  const Floats d;
  const hn::Rebind<std::uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> words;
  RowSum sum;
  for_vectors(size, [&](std::int64_t i, std::int64_t count, int which) {
    std::uint16_t part[kLanes] = {};
    std::memcpy(part, y + i, static_cast<std::size_t>(count < kLanes ? count : kLanes) * sizeof *y);
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, part)));
    sum.add_product(which, load_first(d, x + i, count), hn::BitCast(d, wide));
  });
  return first_lane(sum.total());
}

// y = factor · x in bf16
void scale_row(const float* x, float factor, std::uint16_t* y, std::int64_t size) {
  const Floats d;
  const FloatVector all = hn::Set(d, factor);
  for_vectors(size, [&](std::int64_t i, std::int64_t count, int) {
    store_rounded(hn::Mul(load_first(d, x + i, count), all), y + i, count);
  });
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
