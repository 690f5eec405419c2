// Division of a model's layers into parts, one per pass, whose attention weights fit into memory.
#pragma once

#include <set>
#include <vector>

#include "inspect/capture.h"
#include "inspect/pass_input.h"
#include "inspect/resolve.h"

namespace regard::inspect {

// Maximum number of attention weights of one pass of a study: 256 MiB.
constexpr std::int64_t kMostStudyWeights = std::int64_t{1} << 26;

// Divide the layers of the given kinds of attention (empty means all) into consecutive parts. A part has at
// most `numbers` attention weights, or contains a single layer. If all layers together have at most `numbers`
// weights, return one part; otherwise, each part contains layers of only one kind.
std::vector<Selection> weight_parts(Network& model, const ModelPoints& points, const PassInput& input,
                                    const std::set<Kind>& kinds = {},
                                    std::int64_t numbers = kMostStudyWeights);

}  // namespace regard::inspect
