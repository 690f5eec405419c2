// Sentence embeddings: correlation with human similarity (STS), or retrieval.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"
#include "tasks/embed.h"

namespace regard::evaluate {

// Evaluate sentence embeddings with the similarity function that the folder specifies. `probe` is called in
// every forward pass; it may be null.
//   Data with three columns (text, text_pair, score): the Spearman and Pearson correlations of the
//     similarities with the scores.
//   Data with two columns, or two line-aligned files (query, document): recall at 1, 5 and 10, and the mean
//     reciprocal rank. For each query, the documents of all rows are ranked; the correct document is the one
//     in the query's row. Equal documents count as one candidate.
Evaluation embedding(const tasks::EmbeddingFolder& folder, ThreadPool& pool, const DataOptions& data,
                     const tasks::EmbedOptions& options = {}, Probe* probe = nullptr);

}  // namespace regard::evaluate
