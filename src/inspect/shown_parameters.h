// The parameters W_Q, W_K, W_V and W_O of the heads that the page shows step by step.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "inspect/attention_view.h"
#include "inspect/capture.h"

namespace regard::inspect {

// Maximum number of queries and of keys of a head that the page shows step by step.
constexpr std::int64_t kMostSteppedTokens = 64;

// Set Map::parameters of the heads, in descending order of HeadSummary::telling, and report skipped heads in
// view.left_out. A head is skipped if it has no Map::values, if it has more than kMostSteppedTokens queries
// or keys, or if the total number of parameters would exceed `numbers`. Returns the probe points that the
// page needs: the layers' inputs and outputs, and "encoder.output" for cross-attention.
std::set<std::string> add_parameters(const Capture& capture, ThreadPool& pool, std::size_t numbers,
                                     View& view);

}  // namespace regard::inspect
