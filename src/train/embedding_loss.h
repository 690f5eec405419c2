// Loss functions for training sentence embeddings.
#pragma once

#include <cstddef>
#include <string>

#include "ops/tape.h"
#include "train/batch.h"
#include "train/objective.h"
#include "train/run_config.h"

namespace regard::train {

enum class EmbeddingLoss {
  // the correct text of each row should score higher than the texts of the other rows in the micro-batch
  ranking,
  triplet,  // the first text should be closer to the second than to the third
  cosine,   // the cosine of the two texts should equal a given number
};

EmbeddingLoss embedding_loss_kind(const std::string& name);  // return the loss for a value of embedding.loss

// Return true if the loss compares vectors by their cosine. The vectors must then be normalised.
bool compares_cosines(const EmbeddingConfig& config);

// Return the loss of a micro-batch. `vectors` [rows × width, features] contains one vector for each of the
// `width` texts of each row; the texts of a row are consecutive. a, b and c are the vectors of a row's first,
// second and third text.
// - Ranking (MultipleNegativesRankingLoss, Henderson et al. 2017): cross-entropy of the scores
//   s_ij = scale · cos(a_i, b_j) of row i, where b_j are the vectors of the second and third texts of all
//   rows.
// - Triplet: max(0, d(a, b) − d(a, c) + margin).
// - Cosine: (cos(a, b) − score)².
Var embedding_loss(Tape& tape, Var vectors, std::size_t width, const Batch& batch,
                   const EmbeddingConfig& config, const LossOptions& options);

}  // namespace regard::train
