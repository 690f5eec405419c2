// Dropout draws for a block of C of a bf16 product, as defined in dropout_draw.h and kernels::Dropout.
#pragma once

#include <cstring>

#include "kernels/bf16_table.h"
#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/philox.h"

namespace regard::kernels::REGARD_ISA {
namespace {

constexpr std::int64_t kDrawsOfBlock = 8;  // number of columns whose draws are in one Philox block
static_assert(kBf16PanelColumns % kDrawsOfBlock == 0);

struct Bf16Draws {
  alignas(64) std::uint16_t row[2 * kBf16Rows][kBf16PanelColumns];
};

// Compute the draws of `rows` rows, starting at row `first`. Each lane computes the Philox block of one row.
void draw_block(const Bf16Block& block, std::int64_t first, std::int64_t rows, Bf16Draws& out) {
  const Words words;
  const Bf16Dropout& dropout = *block.dropout;
  for (std::int64_t begin = 0; begin < rows; begin += kLanes) {
    const std::int64_t count = rows - begin < kLanes ? rows - begin : kLanes;
    alignas(64) std::uint32_t low[kLanes] = {}, high[kLanes] = {}, position[kLanes] = {}, drawn[4 * kLanes];
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t row = block.row + first + begin + lane;
      low[lane] = static_cast<std::uint32_t>(dropout.sequence_index[row]);
      high[lane] = static_cast<std::uint32_t>(dropout.sequence_index[row] >> 32);
      position[lane] = static_cast<std::uint32_t>(dropout.position[row]);
    }
    PhiloxBlocks counter{
        {hn::Load(words, low), hn::Load(words, high), hn::Load(words, position), hn::Zero(words)}};
    for (std::int64_t column = 0; column < block.columns; column += kDrawsOfBlock) {
      counter.word[3] = hn::Set(words, static_cast<std::uint32_t>((block.column + column) / kDrawsOfBlock));
      const PhiloxBlocks draws = philox(counter, dropout.draw.key0, dropout.draw.key1);
      hn::StoreInterleaved4(draws.word[0], draws.word[1], draws.word[2], draws.word[3], words, drawn);
      for (std::int64_t lane = 0; lane < count; ++lane)
        std::memcpy(out.row[begin + lane] + column, drawn + 4 * lane, kDrawsOfBlock * sizeof(std::uint16_t));
    }
  }
}

// Return the mask of the values to keep.
HWY_INLINE hn::Mask<Floats> kept_values(const std::uint16_t* draws, std::uint32_t threshold) {
  const hn::Rebind<std::uint16_t, Floats> halves;
  const hn::RebindToSigned<Floats> integers;
  const auto draw = hn::PromoteTo(integers, hn::LoadU(halves, draws));
  return hn::RebindMask(Floats(), hn::Gt(draw, hn::Set(integers, static_cast<std::int32_t>(threshold) - 1)));
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
