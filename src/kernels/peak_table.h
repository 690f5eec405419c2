// Function table of kernels/peak.h.
#pragma once

#include <cstdint>

namespace regard::kernels {

struct PeakTable {
  std::int64_t (*multiply_add_in_registers)(std::int64_t rounds) = nullptr;
  float (*sum_of)(const float* x, std::int64_t count) = nullptr;
};

}  // namespace regard::kernels
