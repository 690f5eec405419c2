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

// Set Map::parameters of the heads with the highest scores (HeadSummary::telling) that have Map::values and
// at most kMostSteppedTokens queries and keys, until the weights have `numbers` elements. Record in
// view.left_out what is left out. Return the probe points of the layers' inputs and outputs.
std::set<std::string> add_parameters(const Capture& capture, ThreadPool& pool, std::size_t numbers,
                                     View& view);

}  // namespace regard::inspect
