// Shows the effect of attention without projections on the program's trained word vectors.
#pragma once

#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "regard/explain.h"

namespace regard::cli {

// Describe how softmax(X Xᵀ) X changes the word vectors X (input.vectors): cosines with the other words, and
// nearest words, before and after. The described words are `query` or, by default, the first four tokens in
// vectors::shipped_vectors(). Returns "" for a text of one token or if there is no such token.
std::string pull_text(const ExplainInput& input, std::optional<std::int64_t> query, ThreadPool& pool);

}  // namespace regard::cli
