// Silhouette (Rousseeuw 1987): how far apart given groups lie, as scikit-learn's silhouette_score computes
// it.
#pragma once

#include <cstdint>
#include <span>

namespace regard::inspect {

// distances [items, items]; groups [items]. The mean over items of (b − a) / max(a, b): a is the mean
// distance to the other items of the item's group, b the least mean distance to another group. An item alone
// in its group counts 0. NaN unless there are at least 2 groups and fewer groups than items. Throws usage if
// the sizes differ.
double silhouette(std::span<const double> distances, std::span<const std::int32_t> groups);

}  // namespace regard::inspect
