// int8 products. Weights are q · scale with one scale per row, symmetric: |q| ≤ 127 (never −128). Rows of the
// other operand are quantised at run time around the middle of their range: q · step + middle, where middle =
// (min + max) / 2 and step = (max − min) / 254. Most rows are not centred at zero (activations are mostly
// positive), so symmetric quantisation would waste half of the range.
//
// A product of quantised rows and a packed i8 matrix is an exact integer sum, so every path gives
// bit-identical results on every machine and in any order:
//   y[row, column] = scale_b[column] · (float(Σ_k q_a[row, k] q_b[k, column]) · step[row]
//                                       + middle[row] · float(Σ_k q_b[k, column])) + bias[column]
// in fused multiply-adds, then the rest of the epilogue. A row with a value that is not finite gives NaN.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace regard::kernels {

// The instructions used to multiply. Each of them except `portable` belongs to one instruction set.
enum class Int8Path : std::uint8_t {
  portable,
  // 256-bit vectors; multiplies |w| by a with the sign of w, so that sums of two products fit into 16 bits
  avx2,
  avx_vnni,     // dot products of four bytes, in 256-bit vectors
  avx512,       // same as avx2, with 512-bit vectors
  avx512_vnni,  // dot products of four bytes, in 512-bit vectors
  amx,          // AMX tiles; products of fewer than 4 rows use avx512_vnni
};

std::string_view name_of(Int8Path path);

// Return the paths that the machine supports for the active instruction set, slowest first.
std::vector<Int8Path> available_int8_paths();

// Return the selected path. Default: the fastest available one; REGARD_ISA=avx2 excludes avx_vnni,
// REGARD_ISA=avx512 excludes amx.
Int8Path active_int8_path();

// Select a path for tests, until the instruction set is changed. No kernel may run during the call. Throws
// usage if the path is not available.
void set_int8_path(Int8Path path);

// Quantise each row of x [rows, columns], row stride `stride`, to contiguous q [rows, columns] and scale
// [rows]: scale = max|x| / 127, q = x · (127 / max|x|), rounded to nearest, ties to even. The scale is 0 if
// max|x| is below 1e-30, and NaN if a value of the row is not finite.
void quantise_rows(ThreadPool& pool, const float* x, std::int64_t stride, std::int64_t rows,
                   std::int64_t columns, std::int8_t* q, float* scale);

// Compute y[row] = factor · scale[id] · q[id], with id = ids[row] and q [.., columns]. The caller checks the
// ids.
void dequantise_rows(ThreadPool& pool, const std::int8_t* q, const float* scale, const std::int32_t* ids,
                     std::int64_t rows, std::int64_t columns, float factor, float* y);

// Compute gemm() with a packed i8 matrix. Throws internal in the cases that gemm() states, and if transpose_a
// or accumulate is set.
void multiply_int8(ThreadPool& pool, const Gemm& problem);

}  // namespace regard::kernels
