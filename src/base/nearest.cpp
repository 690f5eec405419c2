#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace regard::base {
namespace {

// Convert to lower case and unify word separators, so that `hiddenSize` and `hidden-size` are close.
std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name)
    text += c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

int edit_distance(std::string_view from, std::string_view to) {
  // Three rows of the distance table: entry j of row i is the distance between the first i bytes of `from`
  // and the first j bytes of `to`.
  std::vector<int> before(to.size() + 1), above(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool same = from[i - 1] == to[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

std::string_view nearest(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = folded(name);
  std::string_view best;
  int best_distance = std::max(2, static_cast<int>(wanted.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = folded(candidate);
    // The distance is at least the difference in length, so a very long name needs no comparison.
    const std::size_t least = std::max(wanted.size(), other.size()) - std::min(wanted.size(), other.size());
    const bool may_be_near = least < static_cast<std::size_t>(best_distance);
    int distance = may_be_near ? edit_distance(wanted, other) : best_distance;
    // If one name is part of the other, it is probably an abbreviation, such as `layers` for
    // `encoder_layers`.
    const bool part = wanted.size() >= 3 && other.size() >= 3 &&
                      (other.find(wanted) != std::string::npos || wanted.find(other) != std::string::npos);
    if (part) distance = std::min(distance, 2);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace regard::base
