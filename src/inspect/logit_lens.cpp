// The logit lens: predictions of the next token from the residual after each layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inspect/residual_pass.h"
#include "inspect/residual_reader.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

// Return the logits that the model computes from rows of the last layer's residual.
Tensor logits_of(Network& model, ThreadPool& pool, std::int64_t layers, const Tensor& residual) {
  InjectedPass pass;
  skip_layers(pass, layers, residual);
  // A network that does not support skip() computes all layers, so replace its last residual.
  pass.put(fmt::format("decoder.{}.residual", layers - 1), residual);
  Arena arena;
  Tape tape(pool, arena);
  return model.logits(tape, run_rows(tape, model, residual.rows(), pass))->value.clone();
}

struct Softmax {
  double most = 0, sum = 0;
  explicit Softmax(const float* row, std::int64_t count) {
    most = static_cast<double>(*std::max_element(row, row + count));
    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(row[i]) - most);
  }
  double of(float logit) const { return std::exp(static_cast<double>(logit) - most) / sum; }
};

[[noreturn]] void no_lens() {
  throw usage_error("the model's logits are not a function of the last layer's residual alone")
      .expected("a model whose layers add to one residual, such as a Transformer decoder");
}

// Maximum number of logits that logit_lens() computes at a time: 16 MiB.
constexpr std::int64_t kMostLensLogits = std::int64_t{1} << 22;

// Return the embedding and the residuals of all layers at the positions from `first` to `end` − 1, ordered by
// position, then by layer.
Tensor residuals(const PointCapture& pass, std::int64_t layers, std::int64_t first, std::int64_t end) {
  const Tensor& embedding = pass.at("decoder.embedding");
  Tensor rows = Tensor::empty({(end - first) * (layers + 1), embedding.columns()});
  for (std::int64_t layer = -1; layer < layers; ++layer) {
    const Tensor& states = layer < 0 ? embedding : pass.at(fmt::format("decoder.{}.residual", layer));
    for (std::int64_t t = first; t < end; ++t)
      std::copy_n(states.row(t), states.columns(), rows.row((t - first) * (layers + 1) + layer + 1));
  }
  return rows;
}

// Return `cell` with its predictions, computed from `row`, the logits [count] of its layer and position.
LensCell lens_cell(LensCell cell, const float* row, std::int64_t count, const StudyExample& example) {
  const Softmax softmax(row, count);
  if (!std::isfinite(softmax.sum))
    throw Error(ErrorKind::numeric, "the logits of a layer are not finite")
        .found(cell.layer < 0 ? fmt::format("embedding, position {}", cell.position)
                              : fmt::format("layer {}, position {}", cell.layer, cell.position))
        .remedy("Check the weights for values that are not finite");
  const auto at = static_cast<std::size_t>(cell.position);
  cell.best = static_cast<std::int32_t>(std::max_element(row, row + count) - row);
  cell.probability = softmax.of(row[cell.best]);
  cell.wanted = at < example.labels.size() ? example.labels[at] : kIgnoredLabel;
  if (cell.wanted >= 0) {
    cell.wanted_probability = softmax.of(row[cell.wanted]);
    cell.rank = 1 + std::count_if(row, row + count, [&](float x) { return x > row[cell.wanted]; });
  }
  return cell;
}

// Throw usage if `read`, the logits computed from the last layer's residual, differ from `logits`, those of
// the whole model.
void require_close(const float* logits, const float* read, std::int64_t count) {
  float largest = 1.0f;
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(logits[i])) largest = std::max(largest, std::abs(logits[i]));
  // the logits of a token that the model never predicts are −∞
  for (std::int64_t i = 0; i < count; ++i)
    if (logits[i] != read[i] && !(std::abs(logits[i] - read[i]) <= 1e-3f * largest)) no_lens();
}

}  // namespace

std::vector<LensCell> logit_lens(Network& model, ThreadPool& pool, const StudyExample& example,
                                 const EditedPass* edits) {
  require_next_token(model);
  require_unchanged(edits, "decoder.output", "a logit lens");
  const ModelPoints points = ModelPoints::of(model, pool);
  const std::int64_t layers = decoder_layers(points), tokens = std::ssize(example.input.target);
  PointCapture pass;
  pass.want("decoder.embedding");
  for (std::int64_t layer = 0; layer < layers; ++layer) pass.want(fmt::format("decoder.{}.residual", layer));
  const Tensor whole = run_pass(model, pool, example.input, edits, pass);
  const std::int64_t width = pass.at("decoder.embedding").columns();
  for (std::int64_t layer = 0; layer < layers; ++layer)
    if (pass.at(fmt::format("decoder.{}.residual", layer)).columns() != width) no_lens();
  const std::int64_t together = std::max<std::int64_t>(
      1, kMostLensLogits / ((layers + 1) * std::max<std::int64_t>(1, whole.columns())));
  std::vector<LensCell> cells;
  for (std::int64_t first = 0; first < tokens; first += together) {
    const std::int64_t end = std::min(first + together, tokens);
    const Tensor logits = logits_of(model, pool, layers, residuals(pass, layers, first, end));
    for (std::int64_t t = first; t < end; ++t) {
      const std::int64_t row = (t - first) * (layers + 1);
      for (std::int64_t layer = -1; layer < layers; ++layer)
        cells.push_back(lens_cell({layer, t}, logits.row(row + layer + 1), logits.columns(), example));
      require_close(whole.row(t), logits.row(row + layers), logits.columns());
    }
  }
  return cells;
}

}  // namespace regard::inspect
