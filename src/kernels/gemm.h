// Matrix products. Every element of C is one chain of fused multiply-adds over k, in order, starting from
// zero or from what C holds, whatever the shape, the number of threads and the blocking: so its bits depend
// only on its row of A and its column of B.
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
  gelu,       // x Φ(x), with the error function (Hendrycks and Gimpel 2016)
  gelu_tanh,  // its tanh approximation, as GPT-2 has it
  silu,       // x σ(x)
  tanh,
  sigmoid,
  quick_gelu,  // x σ(1.702 x), as CLIP has it
};

// What is done to an element after its chain is complete, in this order, each step optional:
// add bias[column]; store the result to `pre`; apply the activation; add residual.
struct Epilogue {
  const float* bias = nullptr;  // [n]
  float* pre = nullptr;  // [m, n], row stride ldc: the value before the activation, for the backward pass
  Activation activation = Activation::none;
  const float* residual = nullptr;  // [m, n], row stride residual_stride
  std::int64_t residual_stride = 0;
};

// b: [k, n] with row stride ldb, or [n, k] where transpose_b.
PackedMatrix pack(ThreadPool& pool, const float* b, std::int64_t ldb, bool transpose_b, std::int64_t k,
                  std::int64_t n);

// The floats that packed B [k, n] takes.
std::int64_t packed_floats(std::int64_t k, std::int64_t n);
// B of `problem` (nothing else of it is looked at) packed into `memory` [packed_floats(k, n)], 64-byte
// aligned, which must outlive the result.
PackedMatrix pack(ThreadPool& pool, const Gemm& problem, float* memory);

// A product may use the columns of a packed matrix from one multiple of this to another, or to the end.
constexpr std::int64_t kPackedColumnStep = 480;

// C = op(A) op(B), or C += where accumulate.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // [m, k], row stride lda; [k, m] where transpose_a
  std::int64_t lda = 0;
  bool transpose_a = false;
  const float* b = nullptr;  // [k, n], row stride ldb; [n, k] where transpose_b
  std::int64_t ldb = 0;
  bool transpose_b = false;
  const PackedMatrix* packed = nullptr;  // instead of b
  std::int64_t packed_column = 0;        // B is the n columns of `packed` from here on
  float* c = nullptr;                    // [m, n], row stride ldc; must not overlap a or b
  std::int64_t ldc = 0;
  bool accumulate = false;  // the chain starts from what C holds
  Epilogue epilogue;
};

// Any size may be zero: k = 0 gives zeros (or C itself), then the epilogue. Where `packed` is i8, rows of A
// are quantised first (int8.h), and A is neither transposed nor C accumulated. Scratch comes from the pool
// (inside a body, from that body's worker). Throws internal if `packed` has another k, fewer columns, or is
// of another instruction set, or if packed_column is none to begin at.
void gemm(ThreadPool& pool, const Gemm& problem);

}  // namespace regard::kernels
