#include <algorithm>

#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/cross_entropy.h"

namespace regard::ops {
namespace {

// Rows whose logits stand in memory at once: about 4 MiB of them. A function of the shapes only.
std::int64_t chunk_rows(std::int64_t classes) {
  constexpr std::int64_t kLogits = 1 << 20;
  return std::clamp<std::int64_t>(kLogits / std::max<std::int64_t>(classes, 1) / 32 * 32, 32, 4096);
}

struct Gradients {
  float* hidden = nullptr;  // [rows, features]
  float* weight = nullptr;  // [classes, features]
  float* bias = nullptr;    // [classes]
};

struct LinearCrossEntropyNode : Tape::Node {
  Var hidden, weight, bias;
  Gradients gradients;
  static void backward(LinearCrossEntropyNode& node, Tape& tape) {
    if (!node.out->gradient_started) return;
    const float upstream = node.out->gradient.f32()[0];
    hand_on(tape, node.hidden, node.gradients.hidden, upstream);
    hand_on(tape, node.weight, node.gradients.weight, upstream);
    hand_on(tape, node.bias, node.gradients.bias, upstream);
  }
  static void hand_on(Tape& tape, Var to, float* gradient, float upstream) {
    if (gradient == nullptr) return;
    const std::int64_t count = to->value.elements();
    const Tape::Gradient target = tape.gradient(to);
    if (target.accumulate)
      kernels::axpy(tape.pool(), upstream, gradient, target.data, count);
    else
      kernels::scale(tape.pool(), gradient, upstream, target.data, count);
    tape.recycle(gradient, count);
  }
};

struct Problem {
  Var hidden, weight, bias;
  std::span<const std::int32_t> labels;
  CrossEntropyOptions options;
  const kernels::PackedMatrix* packed;
};

// logits = hidden Wᵀ + b for rows [begin, begin + rows).
void chunk_logits(Tape& tape, const Problem& problem, std::int64_t begin, std::int64_t rows, float* logits) {
  const Tensor& hidden = problem.hidden->value;
  kernels::Gemm product;
  product.m = rows, product.n = problem.weight->value.rows(), product.k = hidden.columns();
  product.a = hidden.row(begin), product.lda = hidden.row_stride();
  product.b = problem.weight->value.f32(), product.ldb = product.k, product.transpose_b = true;
  product.packed = problem.packed;
  product.c = logits, product.ldc = product.n;
  product.epilogue.bias = problem.bias != nullptr ? problem.bias->value.f32() : nullptr;
  kernels::gemm(tape.pool(), product);
}

// From d logits of the chunk: d hidden = d logits W; d W += d logitsᵀ hidden; d b += Σ d logits.
void chunk_gradients(Tape& tape, const Problem& problem, std::int64_t begin, std::int64_t rows,
                     const float* logits_gradient, const Gradients& gradients) {
  const Tensor& hidden = problem.hidden->value;
  const std::int64_t classes = problem.weight->value.rows(), features = hidden.columns();
  if (gradients.hidden != nullptr) {
    kernels::Gemm product;
    product.m = rows, product.n = features, product.k = classes;
    product.a = logits_gradient, product.lda = classes;
    product.b = problem.weight->value.f32(), product.ldb = features;
    product.c = gradients.hidden + begin * features, product.ldc = features;
    kernels::gemm(tape.pool(), product);
  }
  if (gradients.weight != nullptr) {
    kernels::Gemm product;
    product.m = classes, product.n = features, product.k = rows;
    product.a = logits_gradient, product.lda = classes, product.transpose_a = true;
    product.b = hidden.row(begin), product.ldb = hidden.row_stride();
    product.c = gradients.weight, product.ldc = features, product.accumulate = begin > 0;
    kernels::gemm(tape.pool(), product);
  }
  if (gradients.bias != nullptr)
    kernels::sum_rows(tape.pool(), logits_gradient, classes, rows, classes, gradients.bias);
}

void check(Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels) {
  require_matrix("cross_entropy", "hidden", hidden);
  require_matrix("cross_entropy", "weight", weight);
  require_contiguous("cross_entropy", "weight", weight);
  if (hidden->value.columns() != weight->value.columns())
    throw shape_error("cross_entropy", "hidden must have as many features as the weight takes",
                      {{"hidden", hidden}, {"weight", weight}});
  require_vector("cross_entropy", "bias", bias, weight->value.rows());
  if (static_cast<std::int64_t>(labels.size()) != hidden->value.rows())
    throw shape_error("cross_entropy", std::to_string(labels.size()) + " labels for", {{"hidden", hidden}});
}

Gradients make_gradients(Tape& tape, const Problem& problem) {
  const auto want = [](Var variable) { return variable != nullptr && variable->needs_gradient; };
  Gradients gradients;
  Arena& arena = tape.arena();
  const Shape weight = problem.weight->value.shape();
  if (want(problem.hidden))
    gradients.hidden = arena.tensor({problem.hidden->value.rows(), problem.hidden->value.columns()}).f32();
  if (want(problem.weight))
    gradients.weight = (problem.hidden->value.rows() > 0 ? arena.tensor(weight) : arena.zeros(weight)).f32();
  if (want(problem.bias)) gradients.bias = arena.zeros({weight[0]}).f32();
  return gradients;
}

}  // namespace

Var linear_cross_entropy(Tape& tape, Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels,
                         const CrossEntropyOptions& options, const kernels::PackedMatrix* packed) {
  check(hidden, weight, bias, labels);
  const std::int64_t rows = hidden->value.rows(), classes = weight->value.rows();
  require_ids("cross_entropy labels", labels, classes, options.ignored);
  const bool wanted = tape.wanted({hidden, weight, bias});
  const Problem problem{hidden, weight,  bias,
                        labels, options, !wanted && packed != nullptr && !packed->empty() ? packed : nullptr};
  Var out = tape.make({1}, wanted);
  const Gradients gradients = wanted ? make_gradients(tape, problem) : Gradients{};

  const Arena::Mark mark = tape.arena().mark();
  const std::int64_t chunk = std::min(chunk_rows(classes), rows);
  float* logits = tape.arena().tensor({chunk, classes}).f32();
  float* losses = tape.arena().tensor({chunk}).f32();
  float* lse = tape.arena().tensor({chunk}).f32();
  double sum = 0.0;
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t count = std::min(chunk, rows - begin);
    const std::int32_t* chunk_labels = labels.data() + begin;
    chunk_logits(tape, problem, begin, count, logits);
    kernels::cross_entropy(tape.pool(), logits, chunk_labels, count, classes, options.label_smoothing,
                           options.ignored, losses, lse);
    for (std::int64_t r = 0; r < count; ++r) sum += static_cast<double>(losses[r]);
    if (!wanted) continue;
    kernels::cross_entropy_backward(tape.pool(), logits, lse, chunk_labels, count, classes,
                                    options.label_smoothing, options.ignored, options.factor, logits);
    chunk_gradients(tape, problem, begin, count, logits, gradients);
  }
  tape.arena().rewind(mark);
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(options.factor));
  if (wanted) {
    LinearCrossEntropyNode node;
    node.hidden = hidden, node.weight = weight, node.bias = bias, node.out = out;
    node.gradients = gradients;
    tape.record(node);
  }
  return out;
}

}  // namespace regard::ops
