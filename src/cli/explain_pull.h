// Shows the effect of attention without projections on the program's trained word vectors.
#pragma once

#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "regard/explain.h"

namespace regard::cli {

// Describe the effect of softmax(X Xᵀ) X, where X is input.vectors, on the token `query` or, without it, on
// the first four tokens that vectors::shipped_vectors() contains: the cosines with the other words and the
// nearest words, before and after. Returns "" for a text of one token or if there is no such token.
std::string pull_text(const ExplainInput& input, std::optional<std::int64_t> query, ThreadPool& pool);

}  // namespace regard::cli
