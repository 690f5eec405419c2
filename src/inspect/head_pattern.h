// Summaries of heads: entropy, distance, and the pattern of the attention weights.
#pragma once

#include <vector>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Set summary.pattern and summary.share, given summary.shares and summary.spread.
void choose_pattern(HeadSummary& summary);

// Compute the summary of an attention map. Queries that are special tokens are ignored, unless all queries
// are special tokens.
HeadSummary summarize(const View& view, const Map& map);

// Set Map::summary of every map in view.maps that has no summary.
void summarize_maps(View& view);

// Return the indices of view.maps ordered by HeadSummary::telling, the largest first. Maps with equal scores
// keep their order.
std::vector<std::size_t> ranked_maps(const View& view);

}  // namespace regard::inspect
