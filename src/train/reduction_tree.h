// The fixed binary tree that sums the gradients of a step's micro-batches: ((0+1)+(2+3))+…, where a number is
// the index of a micro-batch in the step. A node without a right sibling moves up a level unchanged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regard::train {

// A node of the binary tree: the sum of the leaves [index · 2^level, (index + 1) · 2^level). Leaves are the
// gradients of micro-batches.
struct TreeNode {
  int level = 0;
  std::int64_t index = 0;
};

// Return true if `left` and `right` are the operands of one addition.
inline bool are_siblings(const TreeNode& left, const TreeNode& right) {
  return left.level == right.level && left.index % 2 == 0 && right.index == left.index + 1;
}

inline TreeNode parent_of(const TreeNode& node) {
  return {node.level + 1, node.index / 2};
}

// Append a leaf to the nodes, and replace pairs of siblings with their parents.
inline void add_leaf(std::vector<TreeNode>& nodes, std::int64_t leaf) {
  nodes.push_back({0, leaf});
  while (nodes.size() > 1 && are_siblings(nodes[nodes.size() - 2], nodes.back())) {
    nodes.pop_back();
    nodes.back() = parent_of(nodes.back());
  }
}

// Return the smallest list of nodes, in order, that together cover the leaves `begin` to `end` (exclusive).
inline std::vector<TreeNode> complete_nodes(std::int64_t begin, std::int64_t end) {
  std::vector<TreeNode> nodes;
  for (std::int64_t leaf = begin; leaf < end; ++leaf) add_leaf(nodes, leaf);
  return nodes;
}

// Return the maximum length of the node list while add_leaf() appends the leaves `begin` to `end`
// (exclusive).
inline std::size_t most_nodes(std::int64_t begin, std::int64_t end) {
  std::size_t most = 0;
  std::vector<TreeNode> nodes;
  for (std::int64_t leaf = begin; leaf < end; ++leaf) {
    most = std::max(most, nodes.size() + 1);
    add_leaf(nodes, leaf);
  }
  return most;
}

}  // namespace regard::train
