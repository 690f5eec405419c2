// Loops that benchmarks time to measure the machine's peak rates: fused multiply-adds per second and memory
// bandwidth.
#pragma once

#include <cstdint>

namespace regard::kernels {

// Run `rounds` rounds of independent fused multiply-adds on full vectors of the active instruction set on the
// calling thread. Return the number of floating-point operations (two per multiply-add).
std::int64_t multiply_add_in_registers(std::int64_t rounds);

// Return the sum of x [count], where `count` is a multiple of 1024. Several independent sums are computed, so
// that memory bandwidth limits the speed.
float sum_of(const float* x, std::int64_t count);

}  // namespace regard::kernels
