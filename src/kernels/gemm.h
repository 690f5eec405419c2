// Matrix products. Every element of C is one chain of fused multiply-adds in the order of k, starting from
// zero or from the value in C. The bits of an element depend only on its row of A, its column of B and its
// initial value. They do not depend on the shape, the number of threads or the blocking.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/packed_matrix.h"

namespace regard::kernels {

struct Gemm;

enum class Activation : std::uint8_t {
  none,
  relu,
  gelu,       // x Φ(x), computed with the error function (Hendrycks and Gimpel 2016)
  gelu_tanh,  // the tanh approximation of gelu, as in GPT-2
  silu,       // x σ(x)
  tanh,
  sigmoid,
  quick_gelu,  // x σ(1.702 x), as in CLIP
};

// Optional operations on each element of C after its sum over k is complete, in this order: add bias[column];
// store the result to `pre`; apply the activation; add residual.
struct Epilogue {
  const float* bias = nullptr;  // [n]
  float* pre = nullptr;  // output [m, n], row stride ldc: the values before the activation; may be null
  Activation activation = Activation::none;
  const float* residual = nullptr;  // [m, n], row stride residual_stride
  std::int64_t residual_stride = 0;
};

// Pack b: [k, n] with row stride ldb, or [n, k] if transpose_b.
PackedMatrix pack(ThreadPool& pool, const float* b, std::int64_t ldb, bool transpose_b, std::int64_t k,
                  std::int64_t n);

// Return the number of floats in packed B [k, n].
std::int64_t packed_floats(std::int64_t k, std::int64_t n);
// Pack B of `problem`, whose other fields are ignored. `memory` must have packed_floats(k, n) floats, be
// aligned to 64 bytes and outlive the result.
PackedMatrix pack(ThreadPool& pool, const Gemm& problem, float* memory);

// A product may use a range of columns of a packed matrix. The range must start at a multiple of this number,
// and end at a multiple of this number or at the last column.
constexpr std::int64_t kPackedColumnStep = 480;

// Arguments of gemm(): C = op(A) op(B), or C += op(A) op(B) if accumulate.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // [m, k], row stride lda; [k, m] if transpose_a
  std::int64_t lda = 0;
  bool transpose_a = false;
  const float* b = nullptr;  // [k, n], row stride ldb; [n, k] if transpose_b
  std::int64_t ldb = 0;
  bool transpose_b = false;
  // Packed B, used instead of b. If its elements have 16 bits or are i8, transpose_a must be false. If they
  // are i8, accumulate must also be false, and the rows of A are quantised first (int8.h).
  const PackedMatrix* packed = nullptr;
  std::int64_t packed_column = 0;  // first column of B in `packed`; B has n columns
  float* c = nullptr;              // [m, n], row stride ldc; must not overlap a or b
  std::int64_t ldc = 0;
  bool accumulate = false;  // if true, add the product to the value in C
  Epilogue epilogue;
};

// Compute the product that `problem` describes, with the pool's scratch memory. Any size may be zero. If k =
// 0, C becomes zero (or keeps its value if `accumulate`) before the epilogue.
// Throws internal if `packed` has another k, too few columns or another instruction set. Throws internal if
// its type does not permit transpose_a or accumulate, or if the columns do not follow kPackedColumnStep.
void gemm(ThreadPool& pool, const Gemm& problem);

}  // namespace regard::kernels
