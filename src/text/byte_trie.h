// A byte trie in a double array (Aoe 1989). It finds which of many strings start at a position in a text,
// with one load per byte.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace regard::text {

class ByteTrie {
 public:
  static constexpr std::int32_t kRoot = 0, kNone = -1;

  ByteTrie() = default;
  // The value of each string must be at least 0. Empty strings are skipped; for equal strings, the value of
  // the last one is kept.
  explicit ByteTrie(std::span<const TokenView> strings);

  bool empty() const noexcept { return nodes_.empty(); }
  // Return the child of the node for `byte`, or kNone.
  std::int32_t child(std::int32_t node, char byte) const noexcept {
    const auto next = static_cast<std::size_t>(nodes_[static_cast<std::size_t>(node)].base) +
                      static_cast<std::uint8_t>(byte);
    return next < nodes_.size() && nodes_[next].check == node ? static_cast<std::int32_t>(next) : kNone;
  }
  // Return the value of the string that ends at the node, or kNone.
  std::int32_t value(std::int32_t node) const noexcept {
    return nodes_[static_cast<std::size_t>(node)].value;
  }
  // Return the size in bytes and the value of the longest string that `text` starts with; size 0 if there is
  // none.
  std::pair<std::size_t, std::int32_t> longest(std::string_view text) const noexcept;

 private:
  // Node n has a child for byte b if `check` of the element base(n) + b equals n. This element is the child.
  struct Node {
    std::int32_t base = 0, check = kNone, value = kNone;
  };
  std::vector<Node> nodes_;
};

}  // namespace regard::text
