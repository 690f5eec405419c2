#include "ops/linear.h"

#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/product.h"

namespace regard::ops {
namespace {

using kernels::Activation;
using kernels::Gemm;

void check(Var x, Var weight, Var bias, const LinearOptions& options) {
  require_matrix("linear", "x", x);
  require_matrix("linear", "weight", weight);
  require_contiguous("linear", "weight", weight);
  const Shape& shape = weight->value.shape();
  const std::int64_t in = shape[options.transposed ? 0 : 1], out = shape[options.transposed ? 1 : 0];
  if (x->value.columns() != in)
    throw shape_error("linear", "x and the weight must have the same number of input features",
                      {{"x", x}, {"weight", weight}});
  require_vector("linear", "bias", bias, out);
  if (options.residual != nullptr &&
      (options.residual->value.rows() != x->value.rows() || options.residual->value.columns() != out ||
       !options.residual->value.contiguous()))
    throw shape_error("linear", "the residual must be [tokens, out]",
                      {{"residual", options.residual}, {"x", x}, {"weight", weight}});
}

struct LinearNode : Tape::Node {
  Var x, weight, bias, residual;
  float* pre;     // input of the activation's derivative; null if there is no activation
  bool owns_pre;  // if false, pre is the output value itself
  Activation activation;
  bool transposed;
  static void backward(LinearNode& node, Tape& tape);
};

}  // namespace

Var linear(Tape& tape, Var x, Var weight, Var bias, const LinearOptions& options) {
  check(x, weight, bias, options);
  const std::int64_t tokens = x->value.rows(), in = x->value.columns();
  const std::int64_t out_features = weight->value.elements() / std::max<std::int64_t>(in, 1);
  const bool wanted = tape.wanted({x, weight, bias, options.residual});
  Var out = tape.make({tokens, out_features}, wanted);

  Gemm product;
  product.m = tokens, product.n = out_features, product.k = in;
  product.a = x->value.f32(), product.lda = x->value.row_stride();
  product.b = weight->value.f32(), product.ldb = weight->value.columns();
  product.transpose_b = !options.transposed;
  if (!wanted && options.packed != nullptr && !options.packed->empty()) product.packed = options.packed;
  product.c = out->value.f32(), product.ldc = out_features;
  product.epilogue.bias = bias != nullptr ? bias->value.f32() : nullptr;
  product.epilogue.activation = options.activation;
  if (options.residual != nullptr) {
    product.epilogue.residual = options.residual->value.f32();
    product.epilogue.residual_stride = out_features;
  }
  // relu'(x) can be computed from relu(x), so no separate copy is needed.
  const bool from_value = options.activation == Activation::relu && options.residual == nullptr;
  if (wanted && options.activation != Activation::none && !from_value)
    product.epilogue.pre = tape.arena().tensor({tokens, out_features}).f32();
  ops::product(tape, product);

  if (wanted) {
    LinearNode node;
    node.x = x, node.weight = weight, node.bias = bias, node.residual = options.residual, node.out = out;
    node.pre = from_value ? out->value.f32() : product.epilogue.pre;
    node.owns_pre = !from_value;
    node.activation = options.activation;
    node.transposed = options.transposed;
    tape.record(node);
  }
  return out;
}

namespace {

// dpre = dy ∘ activation'(pre), computed in place of dy;  dx = dpre W;  dW += dpreᵀ x;  db += Σ dpre.
void LinearNode::backward(LinearNode& node, Tape& tape) {
  if (!node.out->gradient_started) return;
  ThreadPool& pool = tape.pool();
  const Tensor& x = node.x->value;
  const Tensor& weight = node.weight->value;
  const std::int64_t tokens = x.rows(), in = x.columns(), out = node.out->value.columns();
  const Var consumed = tape.consume(node.out);
  float* dy = consumed->gradient.f32();
  if (node.pre != nullptr) {
    tape.add_gradient(node.out, node.residual);
    kernels::activate_backward(pool, node.activation, node.pre, dy, dy, tokens * out);
    if (node.owns_pre) tape.recycle(node.pre, tokens * out);
  }
  if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr) {
    Gemm product;
    product.m = tokens, product.n = in, product.k = out;
    product.a = dy, product.lda = out;
    product.b = weight.f32(), product.ldb = weight.columns();
    product.transpose_b = node.transposed;
    product.c = dx.data, product.ldc = in, product.accumulate = dx.accumulate;
    ops::product(tape, product);
  }
  if (const Tape::Gradient dw = tape.gradient(node.weight); dw.data != nullptr) {
    Gemm product;  // [out, in] = dyᵀ x, or [in, out] = xᵀ dy
    product.m = node.transposed ? in : out, product.n = node.transposed ? out : in, product.k = tokens;
    product.a = node.transposed ? x.f32() : dy, product.lda = node.transposed ? x.row_stride() : out;
    product.transpose_a = true;
    product.b = node.transposed ? dy : x.f32(), product.ldb = node.transposed ? out : x.row_stride();
    product.c = dw.data, product.ldc = product.n, product.accumulate = dw.accumulate;
    ops::product(tape, product);
  }
  if (float* db = tape.accumulated(node.bias)) kernels::sum_rows(pool, dy, out, tokens, out, db);
  if (node.pre == nullptr) tape.pass_gradient(consumed, node.residual);
}

}  // namespace
}  // namespace regard::ops
