#include "ops/row_products.h"

#include "kernels/gemm.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct ProductsNode : Tape::Node {
  Var a, b;
  // With g the gradient of the result, the gradient of a is g b, and the gradient of b is gᵀ a.
  static void backward(ProductsNode& node, Tape& tape) {
    const Tensor& g = node.out->gradient;
    const std::int64_t m = g.rows(), n = g.columns(), features = node.a->value.columns();
    kernels::Gemm product{
        .k = n, .a = g.f32(), .lda = n, .ldc = features, .accumulate = true, .epilogue = {}};
    product.n = features, product.ldb = features;
    if (float* gradient = tape.accumulated(node.a)) {
      product.m = m, product.k = n, product.b = node.b->value.f32(), product.c = gradient;
      kernels::gemm(tape.pool(), product);
    }
    if (float* gradient = tape.accumulated(node.b)) {
      product.m = n, product.k = m, product.transpose_a = true;
      product.b = node.a->value.f32(), product.c = gradient;
      kernels::gemm(tape.pool(), product);
    }
  }
};

}  // namespace

Var row_products(Tape& tape, Var a, Var b) {
  for (Var one : {a, b}) {
    require_matrix("row_products", one == a ? "a" : "b", one);
    require_contiguous("row_products", one == a ? "a" : "b", one);
  }
  const std::int64_t m = a->value.rows(), n = b->value.rows(), features = a->value.columns();
  require_equal_columns("row_products", {"a", a}, {"b", b});
  const bool wanted = tape.wanted({a, b});
  Var out = tape.make({m, n}, wanted);
  kernels::gemm(tape.pool(), {.m = m,
                              .n = n,
                              .k = features,
                              .a = a->value.f32(),
                              .lda = features,
                              .b = b->value.f32(),
                              .ldb = features,
                              .transpose_b = true,
                              .c = out->value.f32(),
                              .ldc = n,
                              .epilogue = {}});
  if (wanted) tape.record(ProductsNode{{.out = out}, a, b});
  return out;
}

}  // namespace regard::ops
