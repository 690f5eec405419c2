// Sentence embeddings: correlation with human similarity (STS), or retrieval.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"
#include "tasks/embed.h"

namespace regard::evaluate {

// Metrics for data with three columns (text, text_pair, score): the Spearman and Pearson correlations of the
// similarities with the scores. Metrics for data with two columns, or two line-aligned files (query,
// document): recall at 1, 5 and 10, and the mean reciprocal rank. For each query, the documents of all rows
// are ranked; the correct document is the one in the query's row. The similarity is the one that the folder
// specifies. Equal documents of several rows count as one candidate. `probe` is called in every pass; it may
// be null.
Evaluation embedding(const tasks::EmbeddingFolder& folder, ThreadPool& pool, const DataOptions& data,
                     const tasks::EmbedOptions& options = {}, Probe* probe = nullptr);

}  // namespace regard::evaluate
