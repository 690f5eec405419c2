#include "ops/linear.h"

#include "kernels/rows.h"
#include "ops/bf16_store.h"
#include "ops/check.h"
#include "ops/product.h"

namespace regard::ops {
namespace {

using kernels::Activation;
using kernels::Gemm;

void check(const Tape& tape, Var x, Var weight, Var bias, const LinearOptions& options) {
  if (!reads_bf16(tape, x)) require_matrix("linear", "x", x);
  require_matrix("linear", "weight", weight);
  require_contiguous("linear", "weight", weight);
  const Shape& shape = weight->value.shape();
  const std::int64_t in = shape[options.transposed ? 0 : 1], out = shape[options.transposed ? 1 : 0];
  if (x->value.columns() != in)
    throw shape_error("linear", "x and the weight differ in the number of input features",
                      {{"x", x}, {"weight", weight}})
        .expected("x with " + std::to_string(in) + " features");
  require_vector("linear", "bias", bias, out);
  if (options.residual != nullptr &&
      (options.residual->value.rows() != x->value.rows() || options.residual->value.columns() != out ||
       !options.residual->value.contiguous()))
    throw shape_error("linear", "the residual has a wrong shape or is not contiguous",
                      {{"residual", options.residual}, {"x", x}, {"weight", weight}})
        .expected("contiguous [" + std::to_string(x->value.rows()) + ", " + std::to_string(out) + "]");
}

struct LinearNode : Tape::Node {
  Var x, weight, bias, residual;
  // Input of the activation's derivative: `pre` in f32 or `stored_pre` in bf16. Both pointers are null if
  // there is no activation.
  float* pre;
  std::uint16_t* stored_pre;
  bool owns_pre;  // true if `pre` has its own memory; false if it is the output value itself
  Activation activation;
  bool transposed;
  static void backward(LinearNode& node, Tape& tape);
};

// Set the destinations of the result and, if keeps_pre, of the values before the activation.
void set_c(Tape& tape, Gemm& problem, kernels::Bf16Storage& stored, Var out, bool keeps_pre) {
  const Shape shape = out->value.shape();
  problem.ldc = shape.back();
  if (is_bf16(out)) {
    stored.c = bf16_data(out->value);
    if (keeps_pre) stored.pre = bf16_data(tape.arena().tensor(shape, DType::bf16));
  } else {
    problem.c = out->value.f32();
    if (keeps_pre) problem.epilogue.pre = tape.arena().tensor(shape).f32();
  }
}

}  // namespace

Var linear(Tape& tape, Var x, Var weight, Var bias, const LinearOptions& options) {
  check(tape, x, weight, bias, options);
  const std::int64_t tokens = x->value.rows(), in = x->value.columns();
  const std::int64_t out_features = weight->value.shape()[options.transposed ? 1 : 0];
  const bool wanted = tape.wanted({x, weight, bias, options.residual});
  const bool stores = options.store_bf16 && options.residual == nullptr && in > 0 && stores_bf16(tape);
  Var out =
      stores ? make_bf16(tape, {tokens, out_features}, wanted) : tape.make({tokens, out_features}, wanted);

  Gemm product;
  kernels::Bf16Storage stored;
  product.m = tokens, product.n = out_features, product.k = in;
  set_a(product, stored, x->value);
  product.b = weight->value.f32(), product.ldb = weight->value.columns();
  product.transpose_b = !options.transposed;
  if (!wanted && !stores && !is_bf16(x) && options.packed != nullptr && !options.packed->empty())
    product.packed = options.packed;
  product.epilogue.bias = bias != nullptr ? bias->value.f32() : nullptr;
  product.epilogue.activation = options.activation;
  if (options.residual != nullptr) {
    product.epilogue.residual = options.residual->value.f32();
    product.epilogue.residual_stride = out_features;
  }
  // The derivative of relu can be computed from its result, so values before the activation need not be kept.
  const bool from_value = options.activation == Activation::relu && options.residual == nullptr;
  set_c(tape, product, stored, out, wanted && options.activation != Activation::none && !from_value);
  ops::product(tape, product, stored);

  if (wanted) {
    LinearNode node;
    node.x = x, node.weight = weight, node.bias = bias, node.residual = options.residual, node.out = out;
    node.pre = product.epilogue.pre, node.stored_pre = stored.pre;
    if (from_value && stores) node.stored_pre = stored.c;
    if (from_value && !stores) node.pre = product.c;
    node.owns_pre = !from_value;
    node.activation = options.activation;
    node.transposed = options.transposed;
    tape.record(node);
  }
  return out;
}

namespace {

// Compute dy = dy ∘ activation'(pre), then recycle the memory of pre.
void activate_back(Tape& tape, const LinearNode& node, float* dy, std::int64_t count) {
  if (node.stored_pre != nullptr)
    activate_backward_stored(tape, node.activation, node.stored_pre, dy, count);
  else
    kernels::activate_backward(tape.pool(), node.activation, node.pre, dy, dy, count);
  if (!node.owns_pre) return;
  if (node.stored_pre != nullptr)
    tape.recycle(reinterpret_cast<float*>(node.stored_pre), count / 2);
  else
    tape.recycle(node.pre, count);
}

// Backward pass, where dx is the gradient of x (and so on), and dpre is stored in place of dy:
//   dpre = dy ∘ activation'(pre);  dx = dpre W;  dW += dpreᵀ x;  db += Σ dpre
void LinearNode::backward(LinearNode& node, Tape& tape) {
  ThreadPool& pool = tape.pool();
  const Tensor& x = node.x->value;
  const Tensor& weight = node.weight->value;
  const std::int64_t tokens = x.rows(), out = node.out->value.columns();
  Var consumed = tape.consume(node.out);
  float* dy = consumed->gradient.f32();
  const bool activates = node.pre != nullptr || node.stored_pre != nullptr;
  if (activates) {
    tape.add_gradient(node.out, node.residual);
    activate_back(tape, node, dy, tokens * out);
  }
  const Tensor gradient = Tensor::view(dy, {tokens, out});
  if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr)
    input_gradient(tape, gradient, weight, node.transposed, dx);
  if (const Tape::Gradient dw = tape.gradient(node.weight); dw.data != nullptr)
    weight_gradient(tape, gradient, x, node.transposed, dw);
  if (float* db = tape.accumulated(node.bias)) kernels::sum_rows(pool, dy, out, tokens, out, db);
  if (!activates) tape.pass_gradient(consumed, node.residual);
}

}  // namespace
}  // namespace regard::ops
