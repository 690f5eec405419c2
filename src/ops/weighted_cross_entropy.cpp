#include "ops/weighted_cross_entropy.h"

#include <algorithm>

#include "ops/check.h"
#include "ops/embedding.h"
#include "ops/multiply.h"
#include "ops/softmax.h"
#include "ops/sum.h"
#include "ops/view.h"

namespace regard::ops {
namespace {

// Return −factor · Σ w_label · log p_label, where `logs` holds log p [rows, classes]. The log-probabilities
// of other classes are not read, because 0 · −∞ would be NaN.
Var sum_of_labels(Tape& tape, Var logs, std::span<const std::int32_t> labels, std::span<const float> weights,
                  const CrossEntropyOptions& options) {
  const std::int64_t rows = logs->value.rows(), classes = logs->value.columns();
  const auto used =
      static_cast<std::size_t>(rows - std::count(labels.begin(), labels.end(), options.ignored));
  const std::span<std::int32_t> indices = tape.arena().array<std::int32_t>(used);
  const Tensor coefficients = tape.arena().tensor({static_cast<std::int64_t>(used), 1});
  std::size_t count = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int32_t label = labels[static_cast<std::size_t>(r)];
    if (label == options.ignored) continue;
    indices[count] = static_cast<std::int32_t>(r * classes + label);
    coefficients.f32()[count++] = weights[static_cast<std::size_t>(label)];
  }
  Var chosen = select_rows(tape, reshape(tape, logs, {rows * classes, 1}), indices);
  return sum(tape, multiply(tape, chosen, tape.constant(coefficients)), -options.factor);
}

}  // namespace

Var weighted_cross_entropy(Tape& tape, Var logits, std::span<const std::int32_t> labels,
                           std::span<const float> weights, const CrossEntropyOptions& options) {
  require_matrix("weighted_cross_entropy", "logits", logits);
  require_contiguous("weighted_cross_entropy", "logits", logits);
  const std::int64_t rows = logits->value.rows(), classes = logits->value.columns();
  if (std::ssize(labels) != rows || std::ssize(weights) != classes)
    throw usage_error("weighted_cross_entropy: the labels or weights do not match the logits")
        .found(std::to_string(labels.size()) + " labels and " + std::to_string(weights.size()) + " weights")
        .expected(std::to_string(rows) + " labels and " + std::to_string(classes) + " weights");
  require_ids("weighted_cross_entropy labels", labels, classes, options.ignored);
  Var logs = log_softmax(tape, logits);
  if (options.label_smoothing == 0.0f) return sum_of_labels(tape, logs, labels, weights, options);
  // The loss is the sum of coefficients ∘ (−log p), both [rows, classes].
  const Tensor coefficients = tape.arena().tensor({rows, classes});
  const float spread = options.label_smoothing / static_cast<float>(classes);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = coefficients.row(r);
    const std::int32_t label = labels[static_cast<std::size_t>(r)];
    std::transform(weights.begin(), weights.end(), row,
                   [&](float weight) { return label == options.ignored ? 0.0f : spread * weight; });
    if (label != options.ignored)
      row[label] += (1.0f - options.label_smoothing) * weights[static_cast<std::size_t>(label)];
  }
  Var chosen = multiply(tape, logs, tape.constant(coefficients));
  return sum(tape, chosen, -options.factor);
}

}  // namespace regard::ops
