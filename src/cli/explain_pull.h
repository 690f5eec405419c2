// Shows the effect of attention without projections on the program's trained word vectors.
#pragma once

#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "regard/explain.h"

namespace regard::cli {

// Describe the effect of softmax(X Xᵀ) X on the token `query` or, without it, on the first four words of the
// text: the cosines with the other words, and the nearest words of the table, before and after. Returns ""
// for a text of one token. `input` holds vectors of vectors::shipped_vectors().
std::string pull_text(const ExplainInput& input, std::optional<std::int64_t> query, ThreadPool& pool);

}  // namespace regard::cli
