// Text retrieval with embeddings: for each query, find the text with the nearest vector.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "regard/tensor.h"
#include "train/listener.h"

namespace regard::train {

inline constexpr MetricKind kRecall1{"recall_at_1", "recall at 1", 4, true};
inline constexpr MetricKind kRecall5{"recall_at_5", "recall at 5", 4, true};
inline constexpr MetricKind kRecall10{"recall_at_10", "recall at 10", 4, true};
inline constexpr MetricKind kReciprocalRank{"mrr", "MRR", 4, true};

struct Retrieval {
  // for each query, the rank of the correct text, from 1, as in metrics::ranks_of_right()
  std::vector<std::int64_t> ranks;
  std::vector<std::size_t> best;  // for each query, the row of the nearest text
};

// For query i, find the candidate with the largest dot product, and the rank of the correct candidate, which
// is row i of `candidates`. `queries` and `candidates` are [rows, features]. Row i of `candidates` is the
// vector of texts[i]; rows with equal texts count as one candidate.
Retrieval retrieve(ThreadPool& pool, const Tensor& queries, const Tensor& candidates,
                   std::span<const std::string> texts);

// Return, for each i, the dot product of row i of `a` and row i of `b`.
std::vector<double> paired_products(const Tensor& a, const Tensor& b);

}  // namespace regard::train
