// What the machine can do at most, for benchmarks to compare with: multiply-adds in registers, and reading
// memory.
#pragma once

#include <cstdint>

namespace regard::kernels {

// Runs `rounds` rounds of independent fused multiply-adds on full vectors of the active instruction set, on
// the calling thread; returns the floating-point operations done (two for each multiply-add).
std::int64_t multiply_add_in_registers(std::int64_t rounds);

// The sum of x [count], in several chains, as fast as it can be read. `count` is a multiple of 1024.
float sum_of(const float* x, std::int64_t count);

}  // namespace regard::kernels
