#include "vectors/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace regard::vectors {

AliasTable::AliasTable(std::span<const double> weights) : entries_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> share;  // weight of each index, divided by the mean weight
  for (const double weight : weights) share.push_back(weight / sum * static_cast<double>(weights.size()));
  std::vector<std::size_t> small, large;
  for (std::size_t i = 0; i < share.size(); ++i) (share[i] < 1.0 ? small : large).push_back(i);
  while (!small.empty() && !large.empty()) {
    const std::size_t less = small.back(), more = large.back();
    small.pop_back();
    entries_[less] = {static_cast<std::uint32_t>(std::min(share[less] * 0x1p32, 4294967295.0)),
                      static_cast<std::int32_t>(more)};
    share[more] -= 1.0 - share[less];
    if (share[more] < 1.0) {
      large.pop_back();
      small.push_back(more);
    }
  }
  for (const auto& rest : {small, large})
    for (const std::size_t i : rest) entries_[i].other = static_cast<std::int32_t>(i);
}

double AliasTable::probability(std::size_t index) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const double kept = static_cast<double>(entries_[i].keep) * 0x1p-32;
    if (i == index) sum += kept;
    if (static_cast<std::size_t>(entries_[i].other) == index) sum += 1.0 - kept;
  }
  return sum / static_cast<double>(entries_.size());
}

AliasTable negative_table(std::span<const std::int64_t> counts) {
  std::vector<double> weights;
  for (const std::int64_t count : counts) weights.push_back(std::pow(static_cast<double>(count), 0.75));
  return AliasTable(weights);
}

std::vector<float> keep_probabilities(std::span<const std::int64_t> counts, double sample) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<float> keep;
  for (const std::int64_t count : counts) {
    const double ratio = sample * total / static_cast<double>(count);
    keep.push_back(sample <= 0.0 ? 1.0f : static_cast<float>(std::min(1.0, std::sqrt(ratio) + ratio)));
  }
  return keep;
}

HuffmanTree::HuffmanTree(std::span<const std::int64_t> counts) {
  const std::size_t words = counts.size();
  struct Node {
    std::int64_t count;
    std::size_t place;  // index of the node; the words come first, then the inner nodes
    bool operator>(const Node& other) const {
      return count != other.count ? count > other.count : place > other.place;
    }
  };
  std::priority_queue<Node, std::vector<Node>, std::greater<>> open;
  for (std::size_t i = 0; i < words; ++i) open.push({counts[i], i});
  std::vector<std::size_t> parent(2 * words, 0);
  std::vector<float> side(2 * words, 0.0f);
  for (std::size_t next = words; open.size() > 1; ++next) {
    const Node first = open.top();
    open.pop();
    const Node second = open.top();
    open.pop();
    parent[first.place] = parent[second.place] = next;
    side[first.place] = 1.0f;
    open.push({first.count + second.count, next});
  }
  const std::size_t root = words < 2 ? 0 : 2 * words - 2;
  begin.push_back(0);
  for (std::size_t word = 0; word < words; ++word) {
    const auto start = static_cast<std::ptrdiff_t>(node.size());
    for (std::size_t at = word; at != root; at = parent[at]) {
      node.push_back(static_cast<std::int32_t>(parent[at] - words));
      label.push_back(side[at]);
    }
    std::reverse(node.begin() + start, node.end());
    std::reverse(label.begin() + start, label.end());
    begin.push_back(node.size());
  }
}

}  // namespace regard::vectors
