// Matrix products for operations such as linear layers, in f32 or bf16 according to the tape's precision.
// Operands may be stored as bf16.
#pragma once

#include "base/namespaces.h"
#include "kernels/bf16.h"
#include "ops/bf16_store.h"
#include "ops/tape.h"

namespace regard::ops {

inline void product(Tape& tape, const kernels::Gemm& problem) {
  if (tape.options().precision == kernels::Precision::bf16 && problem.packed == nullptr)
    kernels::gemm_bf16(tape.pool(), problem);
  else
    kernels::gemm(tape.pool(), problem);
}

// Compute a product. Each of its matrices may be stored as bf16.
inline void product(Tape& tape, const kernels::Gemm& problem, const kernels::Bf16Storage& stored) {
  if (stored.a != nullptr || stored.b != nullptr || stored.c != nullptr)
    kernels::gemm_bf16(tape.pool(), problem, nullptr, stored);
  else
    product(tape, problem);
}

// Set x, which is f32 or stored as bf16, as operand A or B.
inline void set_operand(const float*& values, std::int64_t& stride, const std::uint16_t*& stored,
                        const Tensor& x) {
  stride = x.row_stride();
  if (x.dtype() == DType::bf16)
    stored = bf16_data(x);
  else
    values = x.f32();
}
inline void set_a(kernels::Gemm& problem, kernels::Bf16Storage& stored, const Tensor& x) {
  set_operand(problem.a, problem.lda, stored.a, x);
}
inline void set_b(kernels::Gemm& problem, kernels::Bf16Storage& stored, const Tensor& x) {
  set_operand(problem.b, problem.ldb, stored.b, x);
}

// Return the product that computes dx [tokens, in], the gradient of x in y = x Wᵀ: dx = dy W, for dy [tokens,
// out]. If transposed, y = x W and dx = dy Wᵀ. The caller must set the output C and, if dy is bf16, operand
// A.
inline kernels::Gemm input_product(const Tensor& dy, const Tensor& weight, bool transposed) {
  kernels::Gemm problem;
  problem.m = dy.rows(), problem.k = dy.columns();
  problem.n = weight.shape()[transposed ? 0 : 1];
  if (dy.dtype() == DType::f32) problem.a = dy.f32();
  problem.lda = dy.row_stride();
  problem.b = weight.f32(), problem.ldb = weight.columns();
  problem.transpose_b = transposed;
  return problem;
}
// Compute the product of input_product(); add it to dx if dx.accumulate.
inline void input_gradient(Tape& tape, const Tensor& dy, const Tensor& weight, bool transposed,
                           const Tape::Gradient& dx) {
  kernels::Gemm problem = input_product(dy, weight, transposed);
  kernels::Bf16Storage stored;
  set_a(problem, stored, dy);
  problem.c = dx.data, problem.ldc = problem.n, problem.accumulate = dx.accumulate;
  product(tape, problem, stored);
}
// Compute dW = dyᵀ x [out, in] or, if transposed, xᵀ dy [in, out]; add it to dW if dw.accumulate.
inline void weight_gradient(Tape& tape, const Tensor& dy, const Tensor& x, bool transposed,
                            const Tape::Gradient& dw) {
  kernels::Gemm problem;
  kernels::Bf16Storage stored;
  problem.m = (transposed ? x : dy).columns(), problem.n = (transposed ? dy : x).columns();
  problem.k = x.rows();
  set_a(problem, stored, transposed ? x : dy);
  set_b(problem, stored, transposed ? dy : x);
  problem.transpose_a = true;
  problem.c = dw.data, problem.ldc = problem.n, problem.accumulate = dw.accumulate;
  product(tape, problem, stored);
}

}  // namespace regard::ops
