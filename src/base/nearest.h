// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace regard {

// The fewest insertions, deletions, replacements and swaps of neighbours (in bytes) from one to the other,
// no part being changed twice (optimal string alignment).
int edit_distance(std::string_view from, std::string_view to);

// The candidate closest to `name`, or an empty view if none is close enough to be a likely typing error.
// Of equally close ones the first.
std::string_view nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace regard
