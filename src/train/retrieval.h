// Retrieval by vectors: which text of a list is nearest to each query.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "regard/tensor.h"

namespace regard::train {

struct Retrieval {
  std::vector<std::int64_t> ranks;  // of each query's right text, from 1, as metrics::ranks_of_right()
  std::vector<std::size_t> best;    // the row of the nearest text
};

// queries, candidates [rows, features]; candidate i, of text texts[i], is right for query i. Equal texts are
// one candidate. Vectors are compared by dot product.
Retrieval retrieve(ThreadPool& pool, const Tensor& queries, const Tensor& candidates,
                   std::span<const std::string> texts);

// The dot product of row i of a with row i of b.
std::vector<double> paired_products(const Tensor& a, const Tensor& b);

}  // namespace regard::train
