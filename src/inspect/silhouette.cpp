#include "inspect/silhouette.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "regard/error.h"

namespace regard::inspect {

double silhouette(std::span<const double> distances, std::span<const std::int32_t> groups) {
  const std::size_t items = groups.size();
  if (distances.size() != items * items)
    throw usage_error("silhouette: expected one distance for each pair of items")
        .found(std::to_string(distances.size()) + " distances")
        .expected(std::to_string(items * items));
  std::map<std::int32_t, double> sizes;
  for (const std::int32_t group : groups) sizes[group] += 1;
  if (sizes.size() < 2 || sizes.size() >= items) return std::numeric_limits<double>::quiet_NaN();
  double total = 0;
  for (std::size_t i = 0; i < items; ++i) {
    if (sizes[groups[i]] == 1) continue;
    std::map<std::int32_t, double> sums;
    for (std::size_t j = 0; j < items; ++j)
      if (j != i) sums[groups[j]] += distances[i * items + j];
    const double own = sums[groups[i]] / (sizes[groups[i]] - 1);
    double other = std::numeric_limits<double>::infinity();
    for (const auto& [group, sum] : sums)
      if (group != groups[i]) other = std::min(other, sum / sizes[group]);
    const double most = std::max(own, other);
    if (most > 0) total += (other - own) / most;
  }
  return total / static_cast<double>(items);
}

}  // namespace regard::inspect
