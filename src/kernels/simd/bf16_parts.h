// Access to operand B of a bf16 product (Bf16Block). B is one packed matrix, or is stored in pages of a
// key/value cache (Bf16PageParts).
#pragma once

#include <hwy/highway.h>

#include "kernels/bf16_table.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Call body(block) for each panel of B.
template <class Body>
HWY_INLINE void for_each_panel(const Bf16Block& block, Body&& body) {
  if (!block.pages.along_columns) return body(block);
  Bf16Block one = block;
  one.pages = {};
  for (std::int64_t i = 0; i < block.pages.count; ++i, one.c += block.columns) {
    one.b = block.pages.part(i);
    body(one);
  }
}

// Return the start of group `i` of B. A group has kBf16Steps consecutive steps along the inner dimension k.
HWY_INLINE const std::uint16_t* steps_of_b(const Bf16Block& block, std::int64_t i) {
  return block.pages.at != nullptr ? block.pages.part(i) : block.b + i * kBf16Steps * block.width();
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
