#include "ops/span_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

// Return the log-sum-exp of one column over the tokens [begin, end).
double column_lse(const Tensor& logits, std::int64_t begin, std::int64_t end, std::int64_t column) {
  double most = -HUGE_VAL, sum = 0;
  for (std::int64_t t = begin; t < end; ++t)
    most = std::max(most, static_cast<double>(logits.row(t)[column]));
  for (std::int64_t t = begin; t < end; ++t)
    sum += std::exp(static_cast<double>(logits.row(t)[column]) - most);
  return most + std::log(sum);
}

struct SpanNode : Tape::Node {
  Var logits;
  std::span<const std::int32_t> offsets, labels;
  float factor;
  std::int32_t ignored;
  // The gradient of a logit is factor · (softmax − 1) at the label, and factor · softmax elsewhere.
  static void backward(SpanNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.logits);
    if (gradient == nullptr) return;
    const Tensor& logits = node.logits->value;
    const std::int64_t columns = logits.columns();
    const double scale = static_cast<double>(node.factor) * static_cast<double>(node.out->gradient.f32()[0]);
    for (std::size_t i = 0; i < node.labels.size(); ++i) {
      if (node.labels[i] == node.ignored) continue;
      const std::size_t sequence = i / static_cast<std::size_t>(columns);
      const std::int64_t column = static_cast<std::int64_t>(i) % columns;
      const std::int64_t begin = node.offsets[sequence], end = node.offsets[sequence + 1];
      const double lse = column_lse(logits, begin, end, column);
      for (std::int64_t t = begin; t < end; ++t) {
        const double p = std::exp(static_cast<double>(logits.row(t)[column]) - lse);
        const double target = t - begin == node.labels[i] ? 1.0 : 0.0;
        gradient[t * columns + column] += static_cast<float>(scale * (p - target));
      }
    }
  }
};

}  // namespace

Var span_cross_entropy(Tape& tape, Var logits, const Ragged& shape, std::span<const std::int32_t> labels,
                       float factor, std::int32_t ignored) {
  require_matrix("span_cross_entropy", "logits", logits);
  require_contiguous("span_cross_entropy", "logits", logits);
  require_ragged("span_cross_entropy", shape, logits->value.rows());
  const std::int64_t columns = logits->value.columns();
  if (std::ssize(labels) != shape.sequences() * columns)
    throw usage_error("span_cross_entropy: the number of labels is not sequences × columns")
        .found(counted(labels.size(), "label"))
        .expected(counted(shape.sequences() * columns, "label"));
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored) continue;
    const std::size_t sequence = i / static_cast<std::size_t>(columns);
    const std::int64_t column = static_cast<std::int64_t>(i) % columns;
    const std::int64_t begin = shape.offsets[sequence], end = shape.offsets[sequence + 1];
    require_ids("span_cross_entropy labels", labels.subspan(i, 1), end - begin);
    sum += column_lse(logits->value, begin, end, column) -
           static_cast<double>(logits->value.row(begin + labels[i])[column]);
  }
  const bool wanted = tape.wanted({logits});
  Var out = tape.make({1}, wanted);
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(factor));
  if (wanted) tape.record(SpanNode{{.out = out}, logits, shape.offsets, labels, factor, ignored});
  return out;
}

}  // namespace regard::ops
