// Retrieval by vectors: which text of a list is nearest to each query.
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
  std::vector<std::int64_t> ranks;  // of each query's right text, from 1, as metrics::ranks_of_right()
  std::vector<std::size_t> best;    // the row of the nearest text
};

// queries, candidates [rows, features]; candidate i, of text texts[i], is right for query i. Equal texts are
// one candidate. Vectors are compared by dot product.
Retrieval retrieve(ThreadPool& pool, const Tensor& queries, const Tensor& candidates,
                   std::span<const std::string> texts);

// Return the dot product of row i of a with row i of b.
std::vector<double> paired_products(const Tensor& a, const Tensor& b);

}  // namespace regard::train
