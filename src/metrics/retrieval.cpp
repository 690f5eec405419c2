#include "metrics/retrieval.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

void check(std::span<const std::int64_t> ranks) {
  if (ranks.empty()) throw usage_error("retrieval: expected at least one query, found none");
}

}  // namespace

std::vector<std::int64_t> ranks_of_right(std::span<const float> scores, std::int64_t candidates,
                                         std::span<const std::int64_t> right) {
  if (candidates < 1 || std::ssize(scores) != std::ssize(right) * candidates)
    throw usage_error("retrieval: wrong number of scores")
        .found(counted(scores.size(), "score"))
        .expected(std::to_string(std::ssize(right) * candidates) +
                  " scores, one for each query and candidate");
  std::vector<std::int64_t> ranks;
  for (std::size_t query = 0; query < right.size(); ++query) {
    if (right[query] < 0 || right[query] >= candidates)
      throw usage_error("the index of a query's correct candidate is out of range")
          .found(std::to_string(right[query]))
          .expected("an index from 0 to " + std::to_string(candidates - 1));
    const auto row =
        scores.subspan(query * static_cast<std::size_t>(candidates), static_cast<std::size_t>(candidates));
    const float own = row[static_cast<std::size_t>(right[query])];
    ranks.push_back(std::count_if(row.begin(), row.end(), [own](float score) { return !(score < own); }));
  }
  return ranks;
}

double recall_at(std::span<const std::int64_t> ranks, std::int64_t k) {
  check(ranks);
  const auto found = std::count_if(ranks.begin(), ranks.end(), [k](std::int64_t rank) { return rank <= k; });
  return static_cast<double>(found) / static_cast<double>(ranks.size());
}

double mean_reciprocal_rank(std::span<const std::int64_t> ranks) {
  check(ranks);
  double sum = 0;
  for (const std::int64_t rank : ranks) sum += 1.0 / static_cast<double>(rank);
  return sum / static_cast<double>(ranks.size());
}

}  // namespace regard::metrics
