// Silhouette (Rousseeuw 1987): a measure of how well given groups are separated, as computed by
// scikit-learn's silhouette_score.
#pragma once

#include <cstdint>
#include <span>

namespace regard::inspect {

// Return the mean of (b − a) / max(a, b) over the items, given `distances` [items, items] and `groups`
// [items]. a is the mean distance to the other items of the item's group, and b is the smallest mean distance
// to another group. The value of an item alone in its group is 0. The result is NaN unless there are at least
// 2 groups and fewer groups than items. Throws usage if the sizes differ.
double silhouette(std::span<const double> distances, std::span<const std::int32_t> groups);

}  // namespace regard::inspect
