#include "text/byte_trie.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace regard::text {
namespace {

// Sort key: the first eight bytes of a string, big-endian, padded with zeros. Most comparisons need only this
// key, and keys are stored contiguously.
struct Head {
  std::uint64_t bytes;
  std::uint32_t string;
};

// Strings sorted by bytes. The bytes after the first eight of each string are stored in one buffer in this
// order, because the trie reads the strings in this order.
struct Sorted {
  struct Entry {
    std::uint64_t head;
    // size: bytes of the string; tail: offset in `tails` of the bytes after the first eight
    std::uint32_t size, tail;
    std::int32_t value;
  };
  std::vector<Entry> entries;
  std::string tails;
  std::size_t bytes = 0;  // total bytes of all strings

  explicit Sorted(std::span<const TokenView> strings);
  std::uint8_t byte(std::size_t i, std::uint32_t place) const noexcept {
    const Entry& entry = entries[i];
    return place < 8 ? static_cast<std::uint8_t>(entry.head >> (56 - 8 * place))
                     : static_cast<std::uint8_t>(tails[entry.tail + place - 8]);
  }
};

Sorted::Sorted(std::span<const TokenView> strings) {
  std::vector<Head> heads(strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string_view string = strings[i].token;
    std::uint64_t head = 0;
    if (!string.empty()) std::memcpy(&head, string.data(), std::min<std::size_t>(8, string.size()));
    heads[i] = {__builtin_bswap64(head), static_cast<std::uint32_t>(i)};
    bytes += string.size();
  }
  // Equal strings keep their order.
  std::sort(heads.begin(), heads.end(), [&](const Head& a, const Head& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    const int order = strings[a.string].token.compare(strings[b.string].token);
    return order != 0 ? order < 0 : a.string < b.string;
  });
  entries.reserve(strings.size());
  tails.reserve(bytes);
  for (const Head& head : heads) {
    const auto& [string, value] = strings[head.string];
    entries.push_back({head.bytes, static_cast<std::uint32_t>(string.size()),
                       static_cast<std::uint32_t>(tails.size()), value});
    if (string.size() > 8) tails.append(string.substr(8));
  }
}

}  // namespace

ByteTrie::ByteTrie(std::span<const TokenView> strings) {
  const Sorted sorted(strings);
  struct Group {
    std::int32_t node;
    std::uint32_t first, last, depth;  // strings [first, last) share their first `depth` bytes
  };
  if (sorted.bytes == 0) return;
  nodes_.reserve(sorted.bytes + 1024);  // pages that are never written use no memory
  nodes_.assign(512, {});               // no base is 0, so the root is not a child of any node
  std::vector<Group> open = {{kRoot, 0, static_cast<std::uint32_t>(strings.size()), 0}};
  // pairs of the next byte and the index of the group's first string with this byte
  std::vector<std::pair<std::uint8_t, std::uint32_t>> children;
  std::size_t search_from = 1;
  const auto free = [this](std::size_t slot) { return slot >= nodes_.size() || nodes_[slot].check < 0; };
  while (!open.empty()) {
    Group group = open.back();
    open.pop_back();
    for (; group.first < group.last && sorted.entries[group.first].size == group.depth; ++group.first)
      if (group.depth > 0)
        nodes_[static_cast<std::size_t>(group.node)].value = sorted.entries[group.first].value;
    if (group.first == group.last) continue;
    children.clear();
    for (std::uint32_t i = group.first; i < group.last; ++i) {
      const auto byte = sorted.byte(i, group.depth);
      if (children.empty() || children.back().first != byte) children.emplace_back(byte, i);
    }
    // Find the first base where the slots of all children are free. If the searched region is nearly full,
    // later searches start after it.
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
