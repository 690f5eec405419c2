// Metrics of retrieval with one correct candidate per query:
// - Recall at k ("accuracy at k") is the fraction of queries whose correct candidate is among the best k. It
//   equals scikit-learn's top_k_accuracy_score.
// - The mean reciprocal rank (Voorhees 1999) equals scikit-learn's label_ranking_average_precision_score.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace regard::metrics {

// Return the rank of each query's correct candidate: 1 plus the number of other candidates with an equal or
// higher score. `scores` is [queries, candidates]; `right` [queries] holds the index of each query's correct
// candidate. Throws usage if the sizes differ or a correct candidate is out of range.
std::vector<std::int64_t> ranks_of_right(std::span<const float> scores, std::int64_t candidates,
                                         std::span<const std::int64_t> right);

// recall_at() and mean_reciprocal_rank() throw usage if `ranks` is empty.
double recall_at(std::span<const std::int64_t> ranks, std::int64_t k);
double mean_reciprocal_rank(std::span<const std::int64_t> ranks);

}  // namespace regard::metrics
