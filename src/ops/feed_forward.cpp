#include "ops/feed_forward.h"

#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/dropout_problem.h"
#include "ops/product.h"

namespace regard::ops {
namespace {

using kernels::Gemm;

void check(const Tape& tape, Var x, const FeedForwardWeights& weights, Var residual) {
  if (!reads_bf16(tape, x)) require_matrix("feed_forward", "x", x);
  require_matrix("feed_forward", "up", weights.up);
  require_matrix("feed_forward", "down", weights.down);
  require_contiguous("feed_forward", "up", weights.up);
  require_contiguous("feed_forward", "down", weights.down);
  const Shape &up = weights.up->value.shape(), &down = weights.down->value.shape();
  const int in = weights.transposed ? 0 : 1, out = 1 - in;
  if (x->value.columns() != up[in] || up[out] != down[in])
    throw shape_error("feed_forward", "the shapes do not match",
                      {{"x", x}, {"up", weights.up}, {"down", weights.down}})
        .expected(weights.transposed ? "x [tokens, in], up [in, hidden], down [hidden, out]"
                                     : "x [tokens, in], up [hidden, in], down [out, hidden]");
  require_vector("feed_forward", "up_bias", weights.up_bias, up[out]);
  require_vector("feed_forward", "down_bias", weights.down_bias, down[out]);
  if (residual == nullptr) return;
  require_contiguous("feed_forward", "residual", residual);
  if (residual->value.rows() != x->value.rows() || residual->value.columns() != down[out])
    throw shape_error("feed_forward", "the residual has a wrong shape",
                      {{"residual", residual}, {"x", x}, {"down", weights.down}})
        .expected("[" + std::to_string(x->value.rows()) + ", " + std::to_string(down[out]) + "]");
}

// Return the arguments of the product y = x Wᵀ + b (if transposed, y = x W + b). The caller must set the
// operand x (set_a) and the destination y.
Gemm layer(const Tensor& x, Var weight, Var bias, bool transposed) {
  Gemm problem;
  problem.m = x.rows(), problem.k = x.columns();
  problem.n = problem.ldc = weight->value.shape()[transposed ? 1 : 0];
  problem.b = weight->value.f32(), problem.ldb = weight->value.columns();
  problem.transpose_b = !transposed;
  problem.epilogue.bias = bias != nullptr ? bias->value.f32() : nullptr;
  return problem;
}

struct FeedForwardNode : Tape::Node {
  Var x, residual;
  FeedForwardWeights weights;
  Tensor pre;  // bf16 [tokens, inner]: result of up(x)
  bool drops = false;
  kernels::Dropout dropout;
  static void backward(FeedForwardNode& node, Tape& tape);
};

}  // namespace

Var feed_forward(Tape& tape, Var x, const FeedForwardWeights& weights, const InnerDropout& dropout,
                 Var residual) {
  check(tape, x, weights, residual);
  const bool wanted =
      tape.wanted({x, weights.up, weights.up_bias, weights.down, weights.down_bias, residual});
  const std::int64_t tokens = x->value.rows();
  Gemm up = layer(x->value, weights.up, weights.up_bias, weights.transposed);
  const Shape inner{tokens, up.n};
  const std::int64_t out_features = weights.down->value.shape()[weights.transposed ? 1 : 0];
  Var out = tape.make({tokens, out_features}, wanted);
  const Tensor pre = tape.arena().tensor(inner, DType::bf16);
  FeedForwardNode node;
  node.drops = drops(tape, dropout.options);
  if (node.drops) node.dropout = dropout_problem(tape, up.n, dropout.shape, dropout.options);
  if (node.drops && dropout.shape.tokens() != tokens)
    throw shape_error("feed_forward", "x has a wrong number of rows", {{"x", x}})
        .expected(std::to_string(dropout.shape.tokens()) + " rows, one for each token of the batch");
  {
    const TemporaryValues temporary(tape);
    const Tensor activated = tape.arena().tensor(inner, DType::bf16);
    kernels::Bf16Storage stored{
        .c = bf16_data(activated), .pre = bf16_data(pre), .dropout = node.drops ? &node.dropout : nullptr};
    set_a(up, stored, x->value);
    up.epilogue.activation = weights.activation;
    product(tape, up, stored);
    Gemm down = layer(activated, weights.down, weights.down_bias, weights.transposed);
    kernels::Bf16Storage read;
    set_a(down, read, activated);
    down.c = out->value.f32();
    if (residual != nullptr) {
      down.epilogue.residual = residual->value.f32();
      down.epilogue.residual_stride = out_features;
    }
    product(tape, down, read);
  }
  if (wanted) {
    node.x = x, node.residual = residual, node.weights = weights, node.pre = pre, node.out = out;
    tape.record(node);
  }
  return out;
}

namespace {

// Backward pass, where h = D ∘ activation(pre), D contains the factors of dropout, and dx is the gradient of
// x (and so on):
//   dpre = dy W_down ∘ D ∘ activation'(pre), stored in place of pre
//   dW_down += dyᵀ h;  dx = dpre W_up;  dW_up += dpreᵀ x
void FeedForwardNode::backward(FeedForwardNode& node, Tape& tape) {
  ThreadPool& pool = tape.pool();
  const FeedForwardWeights& weights = node.weights;
  const std::int64_t tokens = node.pre.rows(), inner = node.pre.columns(), out = node.out->value.columns();
  Var consumed = tape.consume(node.out);
  const Tensor dy = Tensor::view(consumed->gradient.f32(), {tokens, out});
  const Tensor& dpre = node.pre;
  float* memory = tape.take((tokens * inner + 1) / 2);
  const Tensor activated = Tensor::view(memory, dpre.shape(), DType::bf16);
  Gemm back = input_product(dy, weights.down->value, weights.transposed);
  back.epilogue.activation = weights.activation;
  back.ldc = inner;
  product(tape, back,
          {.c = bf16_data(dpre),
           .pre = bf16_data(dpre),
           .dropout = node.drops ? &node.dropout : nullptr,
           .activated = bf16_data(activated)});
  if (const Tape::Gradient dw = tape.gradient(weights.down); dw.data != nullptr)
    weight_gradient(tape, dy, activated, weights.transposed, dw);
  if (float* db = tape.accumulated(weights.down_bias))
    kernels::sum_rows(pool, dy.f32(), out, tokens, out, db);
  tape.recycle(memory, (tokens * inner + 1) / 2);
  if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr)
    input_gradient(tape, dpre, weights.up->value, weights.transposed, dx);
  if (const Tape::Gradient dw = tape.gradient(weights.up); dw.data != nullptr)
    weight_gradient(tape, dpre, node.x->value, weights.transposed, dw);
  if (float* db = tape.accumulated(weights.up_bias))
    kernels::sum_bf16_rows(pool, bf16_data(dpre), tokens, inner, db);
  tape.recycle(static_cast<float*>(node.pre.data()), tokens * inner / 2);
  tape.pass_gradient(consumed, node.residual);
}

}  // namespace
}  // namespace regard::ops
