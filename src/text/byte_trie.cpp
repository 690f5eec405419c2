#include "text/byte_trie.h"

#include <algorithm>
#include <cstring>

namespace regard::text {

namespace {

using Strings = std::vector<std::pair<std::string_view, std::int32_t>>;

// By their bytes, equal ones in the order in which they are given. Most differ in their first eight bytes,
// which lie beside each other here.
Strings sorted(const Strings& strings) {
  struct Head {
    std::uint64_t bytes;  // the first one high, zeros after the last
    std::uint32_t string;
  };
  std::vector<Head> heads(strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string_view string = strings[i].first;
    std::uint64_t bytes = 0;
    if (!string.empty()) std::memcpy(&bytes, string.data(), std::min<std::size_t>(8, string.size()));
    heads[i] = {__builtin_bswap64(bytes), static_cast<std::uint32_t>(i)};
  }
  std::sort(heads.begin(), heads.end(), [&](const Head& a, const Head& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    const int order = strings[a.string].first.compare(strings[b.string].first);
    return order != 0 ? order < 0 : a.string < b.string;
  });
  Strings result;
  result.reserve(strings.size());
  for (const Head& head : heads) result.push_back(strings[head.string]);
  return result;
}

}  // namespace

ByteTrie::ByteTrie(const std::vector<std::pair<std::string_view, std::int32_t>>& given) {
  const Strings strings = sorted(given);
  struct Group {
    std::int32_t node;
    std::uint32_t first, last, depth;  // strings [first, last) share `depth` bytes
  };
  if (std::all_of(strings.begin(), strings.end(), [](const auto& entry) { return entry.first.empty(); }))
    return;
  nodes_.assign(512, {});  // no base is 0, so the root is nobody's child
  std::vector<Group> open = {{kRoot, 0, static_cast<std::uint32_t>(strings.size()), 0}};
  std::vector<std::pair<std::uint8_t, std::uint32_t>> children;  // byte, first string
  std::size_t search_from = 1;
  const auto free = [this](std::size_t slot) { return slot >= nodes_.size() || nodes_[slot].check < 0; };
  while (!open.empty()) {
    Group group = open.back();
    open.pop_back();
    for (; group.first < group.last && strings[group.first].first.size() == group.depth; ++group.first)
      if (group.depth > 0) nodes_[static_cast<std::size_t>(group.node)].value = strings[group.first].second;
    if (group.first == group.last) continue;
    children.clear();
    for (std::uint32_t i = group.first; i < group.last; ++i) {
      const auto byte = static_cast<std::uint8_t>(strings[i].first[group.depth]);
      if (children.empty() || children.back().first != byte) children.emplace_back(byte, i);
    }
    // The first base at which every child's slot is free. A stretch that proves nearly full is left behind.
    const std::size_t lowest = children.front().first;
    std::size_t slot = std::max(search_from, lowest + 1), taken = 0;
    const std::size_t start = slot;
    for (;; ++slot) {
      if (!free(slot)) {
        ++taken;
        continue;
      }
      const std::size_t base = slot - lowest;
      if (std::all_of(children.begin(), children.end(),
                      [&](const auto& child) { return free(base + child.first); }))
        break;
    }
    if (taken * 20 >= (slot - start + 1) * 19) search_from = slot;
    const std::size_t base = slot - lowest;
    if (base + 256 >= nodes_.size()) nodes_.resize(base + base / 4 + 1024);
    nodes_[static_cast<std::size_t>(group.node)].base = static_cast<std::int32_t>(base);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::size_t child = base + children[i].first;
      nodes_[child].check = group.node;
      const std::uint32_t last = i + 1 < children.size() ? children[i + 1].second : group.last;
      open.push_back({static_cast<std::int32_t>(child), children[i].second, last, group.depth + 1});
    }
  }
}

std::pair<std::size_t, std::int32_t> ByteTrie::longest(std::string_view text) const noexcept {
  std::pair<std::size_t, std::int32_t> found{0, kNone};
  if (nodes_.empty()) return found;
  std::int32_t node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = child(node, text[i]);
    if (node == kNone) break;
    if (value(node) != kNone) found = {i + 1, value(node)};
  }
  return found;
}

}  // namespace regard::text
