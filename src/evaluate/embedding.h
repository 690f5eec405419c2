// Sentence embeddings: correlation with human similarity (STS), or retrieval.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"
#include "tasks/embed.h"

namespace regard::evaluate {

// Data with three columns (text, text_pair, score): Spearman and Pearson of the similarities with the scores.
// With two columns, or two line-aligned files (query, document): the correct document of a query is that of
// its row; recall at 1, 5 and 10 and the mean reciprocal rank among the documents of all rows. The similarity
// is the folder's. Equal documents of several rows are one candidate.
Evaluation embedding(const tasks::EmbeddingFolder& folder, ThreadPool& pool, const DataOptions& data,
                     const tasks::EmbedOptions& options = {});

}  // namespace regard::evaluate
