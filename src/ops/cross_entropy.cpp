#include "ops/cross_entropy.h"

#include "base/counted.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct CrossEntropyNode : Tape::Node {
  Var logits;
  std::span<const std::int32_t> labels;
  CrossEntropyOptions options;
  const float* lse;
  static void backward(CrossEntropyNode& node, Tape& tape) {
    const Tensor& logits = node.logits->value;
    const Tape::Gradient target = tape.gradient(node.logits);
    if (target.data == nullptr) return;
    float* gradient = target.accumulate ? tape.take(logits.elements()) : target.data;
    kernels::cross_entropy_backward(tape.pool(), logits.f32(), node.lse, node.labels.data(), logits.rows(),
                                    logits.columns(), node.options.label_smoothing, node.options.ignored,
                                    node.options.factor * node.out->gradient.f32()[0], gradient);
    if (!target.accumulate) return;
    kernels::axpy(tape.pool(), 1.0f, gradient, target.data, logits.elements());
    tape.recycle(gradient, logits.elements());
  }
};

}  // namespace

Var cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                  const CrossEntropyOptions& options) {
  require_matrix("cross_entropy", "logits", logits);
  require_contiguous("cross_entropy", "logits", logits);
  const std::int64_t rows = logits->value.rows(), classes = logits->value.columns();
  if (static_cast<std::int64_t>(labels.size()) != rows)
    throw usage_error("cross_entropy: the number of labels differs from the number of rows")
        .found(counted(labels.size(), "label"))
        .expected(std::to_string(rows) + " labels, one for each row of the logits");
  require_ids("cross_entropy labels", labels, classes, options.ignored);
  const bool wanted = tape.wanted({logits});
  Var out = tape.make({1}, wanted);
  const Tensor losses = tape.arena().tensor({rows}), lse = tape.arena().tensor({rows});
  kernels::cross_entropy(tape.pool(), logits->value.f32(), labels.data(), rows, classes,
                         options.label_smoothing, options.ignored, losses.f32(), lse.f32());
  double sum = 0.0;
  for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(losses.f32()[r]);
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(options.factor));
  if (wanted) tape.record(CrossEntropyNode{{.out = out}, logits, labels, options, lse.f32()});
  return out;
}

}  // namespace regard::ops
