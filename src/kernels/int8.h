// int8: weights are q · scale with one scale for each row, symmetric, |q| ≤ 127 and never −128. The other
// operand's rows are quantised as they come, around the middle of what each holds: q · step + middle, middle
// = (min + max) / 2, step = (max − min) / 254. Few rows have a middle of zero: what an activation gives is
// mostly positive, and a feature that stands out does so to one side. Around zero such a row would use but
// half of the bytes.
//
// A product of quantised rows and a packed i8 matrix sums whole numbers exactly, so every path through the
// processor's instructions gives the same bits, on every machine and in any order:
//   y[row, column] = scale_b[column] · (float(Σ_k q_a[row, k] q_b[k, column]) · step[row]
//                                       + middle[row] · float(Σ_k q_b[k, column])) + bias[column]
// in fused multiply-adds, then what else the epilogue asks. A row with something that is not finite gives
// NaN.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace regard::kernels {

// Which instructions multiply. All but `portable` belong to one instruction set.
enum class Int8Path : std::uint8_t {
  portable,
  avx2,         // bytes multiplied as |w| · (a with w's sign), whose pairs fit 16 bits
  avx_vnni,     // dot products of four bytes, 256 bits
  avx512,       // as avx2, 512 bits
  avx512_vnni,  // dot products of four bytes, 512 bits
  amx,          // tiles
};

std::string_view name_of(Int8Path path);

// Those that the machine has for the active instruction set, slowest first.
std::vector<Int8Path> available_int8_paths();

// The fastest of them; REGARD_ISA=avx2 leaves out avx_vnni, REGARD_ISA=avx512 amx.
Int8Path active_int8_path();

// For tests, with no kernel running: throws usage if the path is not available. It holds until the
// instruction set is changed.
void set_int8_path(Int8Path path);

// x [rows, columns], row stride `stride` → q [rows, columns] without gaps, and scale [rows]: scale = max|x| /
// 127, q = x · (127 / max|x|) rounded to nearest, even. A row of zeros (or nothing above 1e-30) has scale 0;
// a row with something that is not finite has scale NaN.
void quantise_rows(ThreadPool& pool, const float* x, std::int64_t stride, std::int64_t rows,
                   std::int64_t columns, std::int8_t* q, float* scale);

// y = factor · scale[id] · q[id], rows of a table [.., columns]; the ids are checked by the caller.
void dequantise_rows(ThreadPool& pool, const std::int8_t* q, const float* scale, const std::int32_t* ids,
                     std::int64_t rows, std::int64_t columns, float factor, float* y);

// What gemm() does where the packed matrix is i8. Throws internal for a transposed or accumulated product.
void multiply_int8(ThreadPool& pool, const Gemm& problem);

}  // namespace regard::kernels
