#include "ops/symmetric_divergence.h"

#include "kernels/partition.h"
#include "kernels/rows.h"
#include "kernels/vector_math.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct DivergenceNode : Tape::Node {
  Var first, second;
  const float *log_p, *log_q;  // [rows, classes]
  std::span<const std::int32_t> labels;
  std::int32_t ignored;
  float factor;
  static void backward(DivergenceNode& node, Tape& tape);
};

// Divergences of one row: of_first = KL(p‖q) and of_second = KL(q‖p).
struct RowDivergence {
  double of_first = 0.0, of_second = 0.0;
};

RowDivergence divergence(const float* log_p, const float* log_q, std::int64_t classes, float* p, float* q) {
  kernels::evaluate(kernels::Function::exp, log_p, p, classes);
  kernels::evaluate(kernels::Function::exp, log_q, q, classes);
  RowDivergence sum;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double difference = static_cast<double>(log_p[c]) - static_cast<double>(log_q[c]);
    // 0 · log 0 = 0; a NaN remains NaN
    if (p[c] != 0.0f) sum.of_first += static_cast<double>(p[c]) * difference;
    if (q[c] != 0.0f) sum.of_second -= static_cast<double>(q[c]) * difference;
  }
  return sum;
}

// Call body(row, p, q) for each row that is not ignored, with buffers for its probabilities.
template <class Body>
void for_counted_rows(ThreadPool& pool, std::span<const std::int32_t> labels, std::int32_t ignored,
                      std::int64_t classes, Body&& body) {
  const auto bytes = static_cast<std::size_t>(2 * classes) * sizeof(float);
  const auto turn = pool.take_turn();
  if (turn.owns_lock()) pool.reserve_scratch(bytes);
  kernels::for_rows(pool, std::ssize(labels), classes, [&](std::int64_t begin, std::int64_t end) {
    auto* p = reinterpret_cast<float*>(pool.scratch(pool.current_worker(), bytes));
    for (std::int64_t row = begin; row < end; ++row)
      if (labels[static_cast<std::size_t>(row)] != ignored) body(row, p, p + classes);
  });
}

// Add factor · ½ (p ∘ (log p − log q − KL(p‖q)) + p − q), where p is `own` and q is `other`, to `gradient`.
void add_row_gradient(const float* own, const float* other, const float* log_own, const float* log_other,
                      float divergence, float factor, std::int64_t classes, float* gradient) {
  if (gradient == nullptr) return;
  const float half = 0.5f * factor;
  for (std::int64_t c = 0; c < classes; ++c) {
    const float spread = own[c] != 0.0f ? own[c] * (log_own[c] - log_other[c] - divergence) : 0.0f;
    gradient[c] += half * (spread + own[c] - other[c]);
  }
}

}  // namespace

Var symmetric_divergence(Tape& tape, Var first, Var second, std::span<const std::int32_t> labels,
                         std::int32_t ignored, float factor) {
  require_matrix("symmetric_divergence", "first", first);
  require_contiguous("symmetric_divergence", "first", first);
  require_contiguous("symmetric_divergence", "second", second);
  const std::int64_t rows = first->value.rows(), classes = first->value.columns();
  if (!(first->value.shape() == second->value.shape()) || std::ssize(labels) != rows)
    throw shape_error("symmetric_divergence", "the logits differ in shape, or do not match the labels",
                      {{"first", first}, {"second", second}})
        .expected("equal shapes, with " + std::to_string(labels.size()) + " rows, one for each label");
  const bool wanted = tape.wanted({first, second});
  Var out = tape.make({1}, wanted);
  const Tensor log_p = tape.arena().tensor({rows, classes}), log_q = tape.arena().tensor({rows, classes});
  kernels::log_softmax(tape.pool(), first->value.f32(), log_p.f32(), rows, classes);
  kernels::log_softmax(tape.pool(), second->value.f32(), log_q.f32(), rows, classes);
  const std::span<double> sums = tape.arena().array<double>(static_cast<std::size_t>(rows));
  std::fill(sums.begin(), sums.end(), 0.0);
  for_counted_rows(tape.pool(), labels, ignored, classes, [&](std::int64_t row, float* p, float* q) {
    const RowDivergence one = divergence(log_p.row(row), log_q.row(row), classes, p, q);
    sums[static_cast<std::size_t>(row)] = 0.5 * (one.of_first + one.of_second);
  });
  double sum = 0.0;
  for (const double one : sums) sum += one;
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(factor));
  if (wanted)
    tape.record(
        DivergenceNode{{.out = out}, first, second, log_p.f32(), log_q.f32(), labels, ignored, factor});
  return out;
}

namespace {

void DivergenceNode::backward(DivergenceNode& node, Tape& tape) {
  float* const first = tape.accumulated(node.first);
  float* const second = tape.accumulated(node.second);
  const std::int64_t classes = node.first->value.columns();
  const float factor = node.factor * node.out->gradient.f32()[0];
  for_counted_rows(
      tape.pool(), node.labels, node.ignored, classes, [&](std::int64_t row, float* p, float* q) {
        const std::int64_t at = row * classes;
        const float *row_p = node.log_p + at, *row_q = node.log_q + at;
        const RowDivergence one = divergence(row_p, row_q, classes, p, q);
        const auto of_first = static_cast<float>(one.of_first), of_second = static_cast<float>(one.of_second);
        add_row_gradient(p, q, row_p, row_q, of_first, factor, classes,
                         first == nullptr ? nullptr : first + at);
        add_row_gradient(q, p, row_q, row_p, of_second, factor, classes,
                         second == nullptr ? nullptr : second + at);
      });
}

}  // namespace
}  // namespace regard::ops
