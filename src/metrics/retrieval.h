// Retrieval: how often the correct candidate is among the best k (recall at k, "accuracy at k"), and the mean
// reciprocal rank (Voorhees 1999), as scikit-learn's top_k_accuracy_score and
// label_ranking_average_precision_score compute them for one correct candidate per query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace regard::metrics {

// Return the rank of each query's correct candidate, from 1: one more than the number of other candidates
// with an equal or higher score. scores: [queries, candidates]; right: [queries]. Throws usage if the sizes
// differ or a correct candidate is out of range.
std::vector<std::int64_t> ranks_of_right(std::span<const float> scores, std::int64_t candidates,
                                         std::span<const std::int64_t> right);

// Throw usage if there is no rank.
double recall_at(std::span<const std::int64_t> ranks, std::int64_t k);
double mean_reciprocal_rank(std::span<const std::int64_t> ranks);

}  // namespace regard::metrics
