#include "train/embedding_loss.h"

#include <algorithm>

#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/margin_loss.h"
#include "ops/row_pairs.h"
#include "ops/row_products.h"
#include "ops/scale.h"
#include "ops/squared_error.h"

namespace regard::train {
namespace {

// Return the vectors of the texts `first` to `last` − 1 of each row, ordered by the index of the text and
// then by row.
Var texts_of(Tape& tape, Var vectors, std::size_t width, std::size_t first, std::size_t last) {
  const std::size_t rows = static_cast<std::size_t>(vectors->value.rows()) / width;
  const std::span<std::int32_t> indices = tape.arena().array<std::int32_t>(rows * (last - first));
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<std::int32_t>(i % rows * width + first + i / rows);
  return ops::select_rows(tape, vectors, indices);
}

}  // namespace

EmbeddingLoss embedding_loss_kind(const std::string& name) {
  if (name == "triplet") return EmbeddingLoss::triplet;
  return name == "cosine" ? EmbeddingLoss::cosine : EmbeddingLoss::ranking;
}

bool compares_cosines(const EmbeddingConfig& config) {
  return embedding_loss_kind(config.loss) != EmbeddingLoss::triplet || config.distance == "cosine";
}

Var embedding_loss(Tape& tape, Var vectors, std::size_t width, const Batch& batch,
                   const EmbeddingConfig& config, const LossOptions& options) {
  const EmbeddingLoss kind = embedding_loss_kind(config.loss);
  Var first = texts_of(tape, vectors, width, 0, 1);
  if (kind == EmbeddingLoss::ranking) {
    Var scores = ops::row_products(tape, first, texts_of(tape, vectors, width, 1, width));
    return ops::cross_entropy(tape, ops::scale(tape, scores, static_cast<float>(config.scale)), batch.labels,
                              {options.label_smoothing, kIgnoredLabel, options.factor});
  }
  Var second = texts_of(tape, vectors, width, 1, 2);
  if (kind == EmbeddingLoss::cosine) {
    const Tensor targets = tape.arena().tensor({std::ssize(batch.values), 1});
    std::copy(batch.values.begin(), batch.values.end(), targets.f32());
    return ops::squared_error(tape, ops::paired_products(tape, first, second), targets, options.factor);
  }
  const auto distance = [&](Var other) {
    return compares_cosines(config) ? ops::scale(tape, ops::paired_products(tape, first, other), -1.0f)
                                    : ops::paired_distances(tape, first, other);
  };
  Var near = distance(second), far = distance(texts_of(tape, vectors, width, 2, 3));
  return ops::margin_loss(tape, near, far, static_cast<float>(config.margin), options.factor);
}

}  // namespace regard::train
