#include "ops/low_rank.h"

#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/product.h"

namespace regard::ops {
namespace {

using kernels::Gemm;

void check(Var x, Var y, const LowRankTerm& term) {
  constexpr const char* kName = "add_low_rank";
  for (const auto& [name, var] : {std::pair{"x", x}, {"y", y}, {"a", term.a}, {"b", term.b}})
    require_matrix(kName, name, var);
  for (const auto& [name, var] : {std::pair{"y", y}, {"a", term.a}, {"b", term.b}})
    require_contiguous(kName, name, var);
  if (term.a->value.columns() != x->value.columns() || term.b->value.columns() != term.a->value.rows() ||
      y->value.rows() != x->value.rows() || term.column < 0 ||
      term.column + term.b->value.rows() > y->value.columns())
    throw shape_error(kName, "the shapes do not match", {{"x", x}, {"y", y}, {"a", term.a}, {"b", term.b}})
        .expected("x [tokens, in], a [rank, in], b [out, rank], y [tokens, at least " +
                  std::to_string(term.column) + " + out]");
}

struct LowRankNode : Tape::Node {
  Var x, y;
  LowRankTerm term;
  float* inner;  // scale · x Aᵀ [tokens, rank]
  static void backward(LowRankNode& node, Tape& tape);
};

}  // namespace

Var add_low_rank(Tape& tape, Var x, Var y, const LowRankTerm& term) {
  check(x, y, term);
  const std::int64_t tokens = x->value.rows(), in = x->value.columns(), rank = term.a->value.rows();
  const std::int64_t features = y->value.columns();
  const bool wanted = tape.wanted({x, y, term.a, term.b});
  Var out = tape.alias(y, wanted);
  float* inner = tape.arena().tensor({tokens, rank}).f32();

  Gemm down;
  down.m = tokens, down.n = rank, down.k = in;
  down.a = x->value.f32(), down.lda = x->value.row_stride();
  down.b = term.a->value.f32(), down.ldb = in, down.transpose_b = true;
  down.c = inner, down.ldc = rank;
  ops::product(tape, down);
  kernels::scale(tape.pool(), inner, term.scale, inner, tokens * rank);

  Gemm up;
  up.m = tokens, up.n = term.b->value.rows(), up.k = rank;
  up.a = inner, up.lda = rank;
  up.b = term.b->value.f32(), up.ldb = rank, up.transpose_b = true;
  up.c = out->value.f32() + term.column, up.ldc = features, up.accumulate = true;
  ops::product(tape, up);

  if (wanted) tape.record(LowRankNode{{.out = out}, x, y, term, inner});
  return out;
}

namespace {

// Backward pass, where h = scale · x Aᵀ, dy is the gradient of the updated columns, and dA is the gradient of
// A (and so on):
//   dB += dyᵀ h;  dh = scale · dy B;  dA += dhᵀ x;  dx += dh A
// The gradient of y is equal to the gradient of the result.
void LowRankNode::backward(LowRankNode& node, Tape& tape) {
  ThreadPool& pool = tape.pool();
  const LowRankTerm& term = node.term;
  const std::int64_t tokens = node.x->value.rows(), in = node.x->value.columns();
  const std::int64_t rank = term.a->value.rows(), out = term.b->value.rows();
  const std::int64_t features = node.y->value.columns();
  Var consumed = tape.consume(node.out);
  const float* dy = consumed->gradient.f32() + term.column;
  if (const Tape::Gradient db = tape.gradient(term.b); db.data != nullptr) {
    Gemm product;
    product.m = out, product.n = rank, product.k = tokens;
    product.a = dy, product.lda = features, product.transpose_a = true;
    product.b = node.inner, product.ldb = rank;
    product.c = db.data, product.ldc = rank, product.accumulate = db.accumulate;
    ops::product(tape, product);
  }
  float* inner_gradient = node.inner;  // overwrites h, which is no longer needed
  {
    Gemm product;
    product.m = tokens, product.n = rank, product.k = out;
    product.a = dy, product.lda = features;
    product.b = term.b->value.f32(), product.ldb = rank;
    product.c = inner_gradient, product.ldc = rank;
    ops::product(tape, product);
    kernels::scale(pool, inner_gradient, term.scale, inner_gradient, tokens * rank);
  }
  if (const Tape::Gradient da = tape.gradient(term.a); da.data != nullptr) {
    Gemm product;
    product.m = rank, product.n = in, product.k = tokens;
    product.a = inner_gradient, product.lda = rank, product.transpose_a = true;
    product.b = node.x->value.f32(), product.ldb = node.x->value.row_stride();
    product.c = da.data, product.ldc = in, product.accumulate = da.accumulate;
    ops::product(tape, product);
  }
  if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr) {
    Gemm product;
    product.m = tokens, product.n = in, product.k = rank;
    product.a = inner_gradient, product.lda = rank;
    product.b = term.a->value.f32(), product.ldb = in;
    product.c = dx.data, product.ldc = in, product.accumulate = dx.accumulate;
    ops::product(tape, product);
  }
  tape.recycle(node.inner, tokens * rank);
  tape.pass_gradient(consumed, node.y);
}

}  // namespace
}  // namespace regard::ops
