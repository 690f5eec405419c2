// Number format in which matrix products read their operands.
#pragma once

#include <cstdint>

namespace regard::kernels {

// bf16 means that both operands are rounded to bf16; products and sums are f32 (bf16.h).
enum class Precision : std::uint8_t { f32, bf16 };

}  // namespace regard::kernels
