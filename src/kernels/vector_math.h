// The elementary functions of simd/math.h on arrays, with the active instruction set, for tests, benchmarks
// and code outside the kernels. simd/math.h states their error bounds.
#pragma once

#include <cstdint>

namespace regard::kernels {

enum class Function : std::uint8_t { exp, exp_flushed, exp_of_difference, log, tanh, erf, sigmoid };

// Compute y = function(x) element by element; y may be x. Runs on the calling thread.
void evaluate(Function function, const float* x, float* y, std::int64_t count);

// Return Σ a_i b_i as one chain of fused multiply-adds in the order of i, starting from 0. The bits are the
// same with every instruction set.
float dot_in_order(const float* a, const float* b, std::int64_t count);

}  // namespace regard::kernels
