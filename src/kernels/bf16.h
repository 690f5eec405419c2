// Matrix products in bf16: both operands are rounded to bf16 (to nearest, ties to even), products and sums
// are f32, and subnormal numbers are treated as zero. An element of C depends only on its row of A and its
// column of B, for any shape and number of threads. The order of its sum over k depends on the path and
// follows the definition of the instruction in Intel's manual (volume 2):
//   amx_bf16 (TDPBF16PS): for each block of 32 steps, c += even + odd, where `even` and `odd` are chains of
//     fused multiply-adds from zero over the block's even and odd steps;
//   avx512_bf16 (VDPBF16PS): one chain of fused multiply-adds, the second step of each pair first;
//   emulated: the order of amx_bf16, for tests on any processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm.h"

namespace regard::kernels {

struct Dropout;

enum class Bf16Path : std::uint8_t { emulated, avx512_bf16, amx_bf16 };

std::string_view name_of(Bf16Path path);

// Return the paths that this processor supports and REGARD_ISA allows, fastest last, without `emulated`.
const std::vector<Bf16Path>& bf16_paths();

// Return the fastest path of bf16_paths() if it is faster than f32, otherwise std::nullopt. VDPBF16PS was
// measured to be faster than f32 on AMD's processors and slower on Intel's (docs/benchmarks.md). On
// processors of vendors other than AMD, avx512_bf16 is therefore the default only if REGARD_ISA=avx512.
std::optional<Bf16Path> default_bf16_path();

// Throw usage if there is no default path and set_bf16_path() was not called. The error message starts with
// `what`, such as "training.precision = \"bf16\"".
void require_bf16(const std::string& what);

Bf16Path active_bf16_path();  // return the path in use; throws as require_bf16() does
// Select a path, for tests. No kernel may run during the call. Throws usage if the path is not available.
void set_bf16_path(Bf16Path path);
void reset_bf16_path();  // select the default path

// B [k, n], rounded and packed. The caller owns the memory.
struct Bf16Matrix {
  const std::uint16_t* data = nullptr;
  std::int64_t k = 0, n = 0;
};
std::int64_t bf16_packed_bytes(std::int64_t k, std::int64_t n);
// Pack B of `problem`, whose other fields are ignored. `memory` must have bf16_packed_bytes() bytes and be
// aligned to 64 bytes.
Bf16Matrix pack_bf16(ThreadPool& pool, const Gemm& problem, std::byte* memory);

// Operands and results of a product that are stored as bf16; a, b and c require k > 0. The pointers a, b, c
// and pre replace the pointers of the same name in Gemm and Epilogue, and have the same strides.
struct Bf16Storage {
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  std::uint16_t* c = nullptr;  // cannot be combined with accumulate or a residual
  // values before the activation, rounded to bf16; the activation is computed from them; requires c
  std::uint16_t* pre = nullptr;
  // Dropout of C (rows.h), applied after the activation. The members x, y and sizes of `dropout` are not
  // used.
  const Dropout* dropout = nullptr;
  // If not null, compute the backward pass of activation and dropout, with D the factors of dropout:
  //   c = op(A) op(B) ∘ D ∘ activation'(pre), activated = D ∘ activation(pre).
  // The input `pre` and the output `c` must be given; they may be the same array.
  std::uint16_t* activated = nullptr;
};

// Compute C = op(A) op(B) or, if accumulate, C += op(A) op(B), followed by the epilogue of gemm(). The old
// value of C is added after the sum over k is complete.
// If `packed` is not null, B is n columns of `packed`. They start at problem.packed_column, a multiple of
// kPackedColumnStep.
// Throws internal if problem.packed is set, if `packed` does not match the problem, or if a condition of
// Bf16Storage is violated.
void gemm_bf16(ThreadPool& pool, const Gemm& problem, const Bf16Matrix* packed = nullptr,
               const Bf16Storage& stored = {});

// round_to_bf16() computes y = x, rounded to bf16 as in the products; widen_bf16() computes y = x exactly.
// Both process `count` elements.
void round_to_bf16(ThreadPool& pool, const float* x, std::uint16_t* y, std::int64_t count);
void widen_bf16(ThreadPool& pool, const std::uint16_t* x, float* y, std::int64_t count);

// Compute sum_rows() of rows.h for dy in bf16.
void sum_bf16_rows(ThreadPool& pool, const std::uint16_t* dy, std::int64_t rows, std::int64_t columns,
                   float* bias_gradient);

}  // namespace regard::kernels
