// A trie over bytes in one array (a double array: Aoe 1989): which of many strings begin at a place in a
// text, one load a byte.
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
  // Strings and their values, at least 0; empty strings are left out; of equal ones the last counts.
  explicit ByteTrie(std::span<const TokenView> strings);

  bool empty() const noexcept { return nodes_.empty(); }
  // The node after `byte`, or kNone.
  std::int32_t child(std::int32_t node, char byte) const noexcept {
    const auto next = static_cast<std::size_t>(nodes_[static_cast<std::size_t>(node)].base) +
                      static_cast<std::uint8_t>(byte);
    return next < nodes_.size() && nodes_[next].check == node ? static_cast<std::int32_t>(next) : kNone;
  }
  // The value of the string that ends at the node, or kNone.
  std::int32_t value(std::int32_t node) const noexcept {
    return nodes_[static_cast<std::size_t>(node)].value;
  }
  // The longest string at the start of `text`: its size and value; size 0 if there is none.
  std::pair<std::size_t, std::int32_t> longest(std::string_view text) const noexcept;

 private:
  // The child of node n by byte b is at base of n + b, if check there says n.
  struct Node {
    std::int32_t base = 0, check = kNone, value = kNone;
  };
  std::vector<Node> nodes_;
};

}  // namespace regard::text
