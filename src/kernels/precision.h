// Number format of the operands of matrix products.
#pragma once

#include <cstdint>

namespace regard::kernels {

// bf16: both operands are rounded to bf16, products and sums are f32 (bf16.h).
enum class Precision : std::uint8_t { f32, bf16 };

}  // namespace regard::kernels
