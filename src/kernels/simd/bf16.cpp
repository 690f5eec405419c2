// The inner loops of bf16 products for one instruction set: packing, tiles, epilogue.
#include "kernels/bf16_table.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/simd/bf16_attention.h"
#include "kernels/simd/bf16_finish.h"
#include "kernels/simd/bf16_intrinsics.h"

namespace regard::kernels::REGARD_ISA {
namespace {

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

// Convert f32 to bf16, to nearest, ties to even. NaN remains NaN, and a subnormal number becomes 0, as in the
// instruction VCVTNE2PS2BF16.
std::uint16_t rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

float wide(std::uint16_t x) {
  return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16));
}

std::uint16_t element(const Bf16Source& source, std::int64_t line, std::int64_t step) {
  if (line >= source.lines || step >= source.steps) return 0;
  const std::int64_t place = line * source.line_stride + step * source.step_stride;
  return source.stored != nullptr ? source.stored[place] : rounded(source.data[place]);
}

void pack_a(const Bf16Source& source, std::uint16_t* tiles) {
  for (std::int64_t row = 0; row < source.lines; row += kBf16Rows)
    for (std::int64_t step = 0; step < source.steps; step += kBf16Steps)
      for (std::int64_t r = 0; r < kBf16Rows; ++r)
        for (std::int64_t i = 0; i < kBf16Steps; ++i) *tiles++ = element(source, row + r, step + i);
}

void pack_b(const Bf16Source& source, std::uint16_t* panel) {
  const std::int64_t width = (source.lines + kBf16Columns - 1) / kBf16Columns * kBf16Columns;
  const std::int64_t steps = (source.steps + kBf16Steps - 1) / kBf16Steps * kBf16Steps;
  for (std::int64_t step = 0; step < steps; step += 2)
    for (std::int64_t column = 0; column < width; ++column) {
      *panel++ = element(source, column, step);
      *panel++ = element(source, column, step + 1);
    }
}

float fused(std::uint16_t a, std::uint16_t b, float sum) {
  return flushed(std::fmaf(wide(a), wide(b), sum));
}

// Return one element of C as TDPBF16PS computes it. `a` points to the row of A in the tiles.
float emulated_sum(const Bf16Block& block, const std::uint16_t* a, std::int64_t column) {
  const std::int64_t step = 2 * block.width();
  float sum = 0.0f;
  for (std::int64_t i = 0; i < block.blocks; ++i, a += kBf16Rows * kBf16Steps) {
    const std::uint16_t* b = steps_of_b(block, i) + 2 * column;
    float even = 0.0f, odd = 0.0f;
    for (std::int64_t pair = 0; pair < kBf16Steps / 2; ++pair, b += step) {
      even = fused(a[2 * pair], b[0], even);
      odd = fused(a[2 * pair + 1], b[1], odd);
    }
    sum = flushed(sum + flushed(even + odd));
  }
  return sum;
}

void multiply_panel_emulated(const Bf16Block& block) {
  alignas(64) float sums[kBf16Rows * kBf16PanelColumns] = {};
  const std::int64_t width = block.width();
  for (std::int64_t row = 0; row < block.rows; row += kBf16Rows) {
    const std::int64_t rows = block.rows - row < kBf16Rows ? block.rows - row : kBf16Rows;
    const std::uint16_t* a = block.a.data + row / kBf16Rows * block.a.group;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t column = 0; column < block.columns; ++column)
        sums[r * width + column] = emulated_sum(block, a + r * kBf16Steps, column);
    finish_rows<false>(block, row, rows, sums);
  }
}

void multiply_emulated(const Bf16Block& block) {
  for_each_panel(block, multiply_panel_emulated);
}

void sum_stored_rows(const std::uint16_t* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                     float* sum) {
  const Floats d;
  for_vectors(columns, [&](std::int64_t i, std::int64_t count, int) {
    FloatVector total = load_first(d, sum + i, count);
    for (std::int64_t row = 0; row < rows; ++row)
      total = hn::Add(total, load_stored(dy + row * stride + i, count));
    store_first(total, d, sum + i, count);
  });
}

// Set the functions of `path` that process rows in bf16 attention, and return `path`. kNative is true if the
// processor has an instruction that rounds to bf16.
template <bool kNative>
constexpr Bf16Table::Path path_of(Bf16Table::Path path) {
  path.softmax_row = softmax_row<kNative>, path.weights_row = weights_row<kNative>;
  path.score_gradient_row = score_gradient_row<kNative>, path.scale_row = scale_row<kNative>;
  return path;
}

}  // namespace

extern const Bf16Table bf16_table;
constinit const Bf16Table bf16_table = [] {
  Bf16Table t;
  t.of[static_cast<int>(Bf16Path::emulated)] =
      path_of<false>({.pack_a = pack_a, .pack_b = pack_b, .multiply = multiply_emulated});
#if defined(REGARD_BF16_INTRINSICS)
  t.of[static_cast<int>(Bf16Path::avx512_bf16)] = path_of<true>({.pack_a = bf16::pack_a,
                                                                 .pack_b = bf16::pack_b,
                                                                 .multiply = bf16::multiply_vectors,
                                                                 .reads_rows = true});
  t.of[static_cast<int>(Bf16Path::amx_bf16)] = path_of<true>(
      {.pack_a = bf16::pack_a, .pack_b = bf16::pack_b, .multiply = bf16::multiply_tiles, .reads_rows = true});
#endif
  t.round = round_numbers, t.widen = widen_numbers, t.sum_rows = sum_stored_rows;
  t.draw_row = draw_row;
  t.apply_rule = apply_rule;
  t.product_sum = product_sum;
  return t;
}();

}  // namespace regard::kernels::REGARD_ISA
