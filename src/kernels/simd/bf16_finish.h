// The last part of a bf16 product: the complete sums of some rows, in a buffer in L1, are converted to
// elements of C.
#pragma once

#include "kernels/bf16_table.h"
#include "kernels/simd/bf16_round.h"
#include "kernels/simd/gemm_finish.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Compute to[row] = sums[row] + c[row] (if accumulate) + bias. sums [rows, block.width()].
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

// Finish the rows from `first` on of a block that is stored as bf16. The activation is computed from its
// stored (rounded) input, so that the backward pass can compute the same value again. rows ≤ 2 kBf16Rows.
void finish_stored_rows(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums) {
  alignas(64) float values[2 * kBf16Rows * kBf16PanelColumns];
  const Epilogue epilogue = block.epilogue != nullptr ? *block.epilogue : Epilogue();
  Bf16Block buffered = block;
  buffered.ldc = kBf16PanelColumns, buffered.accumulate = false;
  const float* bias = epilogue.bias != nullptr ? epilogue.bias + block.column : nullptr;
  add_to_rows(buffered, rows, sums, sums, bias, values);
  for (std::int64_t row = 0; block.stored_pre != nullptr && row < rows; ++row) {
    std::uint16_t* pre = block.stored_pre + (first + row) * block.ldc;
    round_numbers(values + row * kBf16PanelColumns, pre, block.columns);
    widen_numbers(pre, values + row * kBf16PanelColumns, block.columns);
  }
  if (epilogue.activation != Activation::none) {
    const Finish finish{values, values, kBf16PanelColumns, nullptr, 0, rows, block.columns};
    with_activation(epilogue.activation,
                    [&](auto constant) { finish_tile<decltype(constant)::value>(finish); });
  }
  for (std::int64_t row = 0; row < rows; ++row)
    round_numbers(values + row * kBf16PanelColumns, block.stored + (first + row) * block.ldc, block.columns);
}

// Finish the rows from `first` on of a block that is stored as f32.
void finish_rows(const Bf16Block& block, std::int64_t first, std::int64_t rows, const float* sums) {
  if (block.stored != nullptr) return finish_stored_rows(block, first, rows, sums);
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
