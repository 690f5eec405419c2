// Suggests the known name closest to a mistyped one ("did you mean").
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Return the optimal string alignment distance in bytes: the minimum number of insertions, deletions,
// substitutions and transpositions of adjacent bytes, with no part edited twice.
int edit_distance(std::string_view from, std::string_view to);

// Return the candidate closest to `name`, the first of equally close ones, or an empty view if none is close
// enough to be the intended name. The view refers to `candidates`.
std::string_view nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace regard::base
