// Row operations of bf16 attention: dropout draws, softmax, attention weights, and gradients of scores.
#pragma once

#include <limits>

#include "kernels/bf16_table.h"
#include "kernels/simd/bf16_dropout.h"
#include "kernels/simd/bf16_finish.h"
#include "kernels/simd/reduce.h"

#if defined(REGARD_BF16_INTRINSICS)
HWY_PUSH_ATTRIBUTES("avx512bf16")
#endif
namespace regard::kernels::REGARD_ISA {
namespace {

void clear_rest(const Bf16ScoreRow& row) {
  std::memset(row.rounded + row.count, 0,
              static_cast<std::size_t>(row.padded - row.count) * sizeof(std::uint16_t));
}

// Compute the dropout draws (16-bit random numbers) of a row. Each lane computes one Philox block, which
// contains the draws of eight consecutive keys.
void draw_row(const Bf16DrawRow& row) {
  const Words words;
  constexpr std::int64_t kKeys = 8 * kLanes;  // number of keys per step
  static_assert(kBf16DrawStep % kKeys == 0);
  alignas(64) std::uint32_t draws[4 * kLanes];
  const auto index = static_cast<std::uint32_t>(row.sequence_index);
  const auto high = static_cast<std::uint32_t>(row.sequence_index >> 32);
  for (std::int64_t key = 0; key < row.count; key += kKeys) {
    const PhiloxBlocks counter{{hn::Set(words, index),
                                hn::Set(words, static_cast<std::uint32_t>(row.position)),
                                hn::Set(words, static_cast<std::uint32_t>(row.head) ^ high << 16),
                                hn::Iota(words, static_cast<std::uint32_t>((row.first_key + key) / 8))}};
    const PhiloxBlocks drawn = philox(counter, row.dropout.key0, row.dropout.key1);
    hn::StoreInterleaved4(drawn.word[0], drawn.word[1], drawn.word[2], drawn.word[3], words, draws);
    std::memcpy(row.draws + key, draws, sizeof draws);
  }
}

void apply_rule(const Bf16ScoreRule& rule) {
  const Floats d;
  const FloatVector scale = hn::Set(d, rule.scale), cap = hn::Set(d, rule.softcap);
  for_vectors(rule.count, [&](std::int64_t i, std::int64_t count, int) {
    FloatVector score = hn::Mul(load_first(d, rule.scores + i, count), scale);
    if (rule.softcap > 0.0f) score = hn::Mul(tanh(d, hn::Div(score, cap)), cap);
    if (rule.bias != nullptr) score = hn::Add(score, load_first(d, rule.bias + i, count));
    store_first(score, d, rule.scores + i, count);
  });
  const float hidden = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; rule.mask != nullptr && i < rule.count; ++i)
    if (rule.mask[i] == 0) rule.scores[i] = hidden;
}

// Store exp(scale · s − m), or 0 for dropped keys, in `rounded`, where m = max(scale · s). Return m and the
// sum of all exponentials, including those of dropped keys; the sum is 0 if all scores are −∞.
template <bool kDrops, bool kNative>
Bf16RowSum softmax_of(const Bf16ScoreRow& row) {
  const Floats d;
  clear_rest(row);
  if (row.count <= 0) return {};
  const FloatVector scale = hn::Set(d, row.scale);
  RowMaximum maximum;
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int which) {
    maximum.add(which, or_lowest(hn::Mul(load_first(d, row.scores + i, count), scale), count));
  });
  const FloatVector most = maximum.total();
  // Subtract 0 if all scores are −∞, to avoid (−∞) − (−∞).
  const FloatVector base = hn::IfThenZeroElse(hn::Eq(most, hn::Neg(hn::Inf(d))), most);
  RowSum sum;
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int which) {
    const FloatVector score = hn::Mul(load_first(d, row.scores + i, count), scale);
    FloatVector weight = or_zero(exp(d, hn::Sub(score, base)), count);
    sum.add(which, weight);
    if constexpr (kDrops) weight = hn::IfThenElseZero(kept_values(row.draws + i, row.threshold), weight);
    store_as_bf16<kNative>(weight, row.rounded + i, count);
  });
  return {first_lane(most), first_lane(sum.total())};
}

template <bool kNative>
Bf16RowSum softmax_row(const Bf16ScoreRow& row) {
  return row.draws != nullptr ? softmax_of<true, kNative>(row) : softmax_of<false, kNative>(row);
}

// With w = exp(scale · s − lse), store kept · w in `rounded` and w in `scores`. For dropped keys, store 0 in
// `rounded` and −w in `scores`.
template <bool kDrops, bool kNative>
void weights_of(const Bf16ScoreRow& row, float lse) {
  const Floats d;
  clear_rest(row);
  const FloatVector scale = hn::Set(d, row.scale), sum = hn::Set(d, lse), kept = hn::Set(d, row.kept);
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int) {
    FloatVector weight = exp(d, hn::MulSub(load_first(d, row.scores + i, count), scale, sum));
    FloatVector used = weight;
    if constexpr (kDrops) {
      const auto keeps = kept_values(row.draws + i, row.threshold);
      used = hn::IfThenElseZero(keeps, hn::Mul(weight, kept));
      weight = hn::IfThenElse(keeps, weight, hn::Neg(weight));
    }
    store_first(weight, d, row.scores + i, count);
    store_as_bf16<kNative>(used, row.rounded + i, count);
  });
}

template <bool kNative>
void weights_row(const Bf16ScoreRow& row, float lse) {
  return row.draws != nullptr ? weights_of<true, kNative>(row, lse) : weights_of<false, kNative>(row, lse);
}

// Store the gradient of the scores in `rounded`: scale · w (kept · dw − delta), or −scale · w · delta for
// dropped keys. w is the result of weights_row(); its sign bit marks dropped keys. dw is weight_gradient, and
// delta is the dot product of the output row and its gradient.
template <bool kDrops, bool kNative>
void score_gradient_of(const Bf16ScoreRow& row, const float* weight_gradient, float delta) {
  const Floats d;
  clear_rest(row);
  const FloatVector scale = hn::Set(d, row.scale), mean = hn::Set(d, delta), kept = hn::Set(d, row.kept);
  for_vectors(row.count, [&](std::int64_t i, std::int64_t count, int) {
    FloatVector weight = load_first(d, row.scores + i, count);
    FloatVector given = load_first(d, weight_gradient + i, count);
    if constexpr (kDrops) {
      given = hn::IfNegativeThenElse(weight, hn::Zero(d), hn::Mul(given, kept));
      weight = hn::Abs(weight);
    }
    store_as_bf16<kNative>(hn::Mul(hn::Mul(weight, scale), hn::Sub(given, mean)), row.rounded + i, count);
  });
}

template <bool kNative>
void score_gradient_row(const Bf16ScoreRow& row, const float* weight_gradient, float delta) {
  return row.kept != 1.0f ? score_gradient_of<true, kNative>(row, weight_gradient, delta)
                          : score_gradient_of<false, kNative>(row, weight_gradient, delta);
}

// Return Σ x · y, where y is in bf16.
float product_sum(const float* x, const std::uint16_t* y, std::int64_t size) {
  const Floats d;
  RowSum sum;
  for_vectors(size, [&](std::int64_t i, std::int64_t count, int which) {
    sum.add_product(which, load_first(d, x + i, count), load_stored(y + i, count));
  });
  return first_lane(sum.total());
}

// Compute y = factor · x, rounded to bf16.
template <bool kNative>
void scale_row(const float* x, float factor, std::uint16_t* y, std::int64_t size) {
  const Floats d;
  const FloatVector all = hn::Set(d, factor);
  for_vectors(size, [&](std::int64_t i, std::int64_t count, int) {
    store_as_bf16<kNative>(hn::Mul(load_first(d, x + i, count), all), y + i, count);
  });
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
#if defined(REGARD_BF16_INTRINSICS)
HWY_POP_ATTRIBUTES
#endif
