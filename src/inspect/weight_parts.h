// Passes whose attention weights do not fit into memory together: one pass for each part of the layers.
#pragma once

#include <set>
#include <vector>

#include "inspect/capture.h"
#include "inspect/pass_input.h"
#include "inspect/resolve.h"

namespace regard::inspect {

// Maximum number of attention weights of one pass of a study: 256 MiB.
constexpr std::int64_t kMostStudyWeights = std::int64_t{1} << 26;

// Divide the layers of the given kinds of attention (empty means all) into consecutive parts. The attention
// weights of each part have at most `numbers` elements; a part has at least one layer of one kind. The result
// is one part if the weights of all layers have at most `numbers` elements.
std::vector<Selection> weight_parts(Network& model, const ModelPoints& points, const PassInput& input,
                                    const std::set<Kind>& kinds = {},
                                    std::int64_t numbers = kMostStudyWeights);

}  // namespace regard::inspect
