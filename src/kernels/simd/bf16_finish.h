// The last part of a bf16 product: convert the complete sums of some rows to elements of C. The sums are in a
// buffer in the L1 cache.
#pragma once

#include "kernels/bf16_table.h"
#include "kernels/simd/bf16_dropout.h"
#include "kernels/simd/bf16_parts.h"
#include "kernels/simd/bf16_round.h"
#include "kernels/simd/gemm_finish.h"

#if defined(__x86_64__) && defined(__AVX512F__)
#define REGARD_BF16_INTRINSICS 1
#include <immintrin.h>

#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx512bf16")
#endif
namespace regard::kernels::REGARD_ISA {
namespace {

// Store x rounded to bf16, with the same result as store_rounded(). If kNative is set, the instruction
// VCVTNEPS2BF16 of AVX512_BF16 is used.
template <bool kNative>
HWY_INLINE void store_as_bf16(FloatVector x, std::uint16_t* y, std::int64_t count) {
#if defined(REGARD_BF16_INTRINSICS)
  if constexpr (kNative) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.raw);
    __m256i bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    const auto lanes = static_cast<__mmask16>(count >= kLanes ? 0xFFFFu : (1u << count) - 1u);
    return _mm256_mask_storeu_epi16(y, lanes, bits);
  }
#endif
  store_rounded(x, y, count);
}

// Compute to[row] = sums[row] + bias, plus c[row] if block.accumulate. sums: [rows, block.width()].
void add_to_rows(const Bf16Block& block, std::int64_t rows, const float* sums, const float* c,
                 const float* bias, float* to) {
  const Floats d;
  const std::int64_t width = block.width();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < block.columns; column += kLanes) {
      const std::int64_t left = block.columns - column, place = row * block.ldc + column;
      FloatVector x = load_first(d, sums + row * width + column, left);
      if (block.accumulate) x = hn::Add(x, load_first(d, c + place, left));
      if (bias != nullptr) x = hn::Add(x, load_first(d, bias + column, left));
      store_first(x, d, to + place, left);
    }
}

// Apply the epilogue to `rows` rows, starting at row `first` of the block, and store them as bf16. The
// activation is computed from its stored (rounded) input, so that the backward pass can compute the same
// activation again.
template <Activation kActivation, bool kDrops, bool kNative>
void finish_stored_rows(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums,
                        const Bf16Draws* draws) {
  const Floats d;
  const float* bias = block.epilogue != nullptr ? block.epilogue->bias : nullptr;
  const std::int64_t width = block.width();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < block.columns; column += kLanes) {
      const std::int64_t left = block.columns - column, place = (first + row) * block.ldc + column;
      FloatVector x = load_first(d, sums + row * width + column, left);
      if (bias != nullptr) x = hn::Add(x, load_first(d, bias + block.column + column, left));
      if (block.stored_pre != nullptr) {
        store_as_bf16<kNative>(x, block.stored_pre + place, left);
        x = load_stored(block.stored_pre + place, left);
      }
      FloatVector y = activation<kActivation>(d, x);
      if constexpr (kDrops)
        y = hn::IfThenElseZero(kept_values(draws->row[row] + column, block.dropout->draw.threshold),
                               hn::Mul(y, hn::Set(d, block.dropout->draw.kept)));
      store_as_bf16<kNative>(y, block.stored + place, left);
    }
}

// Compute rows of C for the backward pass of activation and dropout (see Bf16Storage::activated).
template <Activation kActivation, bool kDrops, bool kNative>
void finish_gradient_rows(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums,
                          const Bf16Draws* draws) {
  const Floats d;
  const std::int64_t width = block.width();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < block.columns; column += kLanes) {
      const std::int64_t left = block.columns - column, place = (first + row) * block.ldc + column;
      const FloatVector pre = load_stored(block.stored_pre + place, left);
      FloatVector gradient = load_first(d, sums + row * width + column, left);
      FloatVector activated = activation<kActivation>(d, pre);
      if constexpr (kDrops) {
        const auto keeps = kept_values(draws->row[row] + column, block.dropout->draw.threshold);
        const FloatVector kept = hn::Set(d, block.dropout->draw.kept);
        gradient = hn::IfThenElseZero(keeps, hn::Mul(gradient, kept));
        activated = hn::IfThenElseZero(keeps, hn::Mul(activated, kept));
      }
      store_as_bf16<kNative>(activated, block.activated + place, left);
      store_as_bf16<kNative>(hn::Mul(gradient, activation_derivative<kActivation>(d, pre)),
                             block.stored + place, left);
    }
}

// Compute rows of a block that is stored as bf16, and apply its activation. `draws` is null without dropout.
template <bool kDrops, bool kNative>
void finish_stored(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums,
                   const Bf16Draws* draws) {
  const Activation kind = block.epilogue != nullptr ? block.epilogue->activation : Activation::none;
  with_activation(kind, [&](auto constant) {
    if (block.activated != nullptr)
      finish_gradient_rows<decltype(constant)::value, kDrops, kNative>(block, first, rows, sums, draws);
    else
      finish_stored_rows<decltype(constant)::value, kDrops, kNative>(block, first, rows, sums, draws);
  });
}

template <bool kNative>
void finish_stored(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums) {
  if (block.dropout == nullptr) return finish_stored<false, kNative>(block, first, rows, sums, nullptr);
  Bf16Draws draws;
  draw_block(block, first, rows, draws);
  finish_stored<true, kNative>(block, first, rows, sums, &draws);
}

// Apply the epilogue to `rows` rows of sums, starting at row `first` of the block, and store the results.
template <bool kNative>
void finish_rows(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums) {
  if (block.stored != nullptr) return finish_stored<kNative>(block, first, rows, sums);
  float* c = block.c + first * block.ldc;
  if (block.epilogue == nullptr) return add_to_rows(block, rows, sums, c, nullptr, c);
  const Epilogue& epilogue = *block.epilogue;
  const std::int64_t row = block.row + first;
  float* x = epilogue.pre != nullptr ? epilogue.pre + row * block.ldc + block.column : c;
  add_to_rows(block, rows, sums, c, epilogue.bias != nullptr ? epilogue.bias + block.column : nullptr, x);
  if (epilogue.activation == Activation::none && epilogue.residual == nullptr && x == c) return;
  Finish finish{x, c, block.ldc, nullptr, epilogue.residual_stride, rows, block.columns};
  if (epilogue.residual != nullptr)
    finish.residual = epilogue.residual + row * epilogue.residual_stride + block.column;
  with_activation(epilogue.activation,
                  [&](auto constant) { finish_tile<decltype(constant)::value>(finish); });
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
#if defined(REGARD_BF16_INTRINSICS)
HWY_POP_ATTRIBUTES
#endif
