// Top-k selection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace regard::tasks {

// Return the indices of the best `count` scores, best first. Equal scores are ordered by index.
inline std::vector<std::int64_t> best_of(std::span<const float> scores, std::size_t count) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(count);
  return order;
}

}  // namespace regard::tasks
