// A queue that serves clients in turn (round robin). The next item belongs to the client that was served
// longest ago; items of the same client keep their order. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace regard::serve {

template <class Item>
class FairQueue {
 public:
  void push(const std::string& client, Item item) {
    ++size_;
    for (Line& line : lines_)
      if (line.client == client) return line.items.push_back(std::move(item));
    lines_.push_back({client, {}});
    lines_.back().items.push_back(std::move(item));
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t size(const std::string& client) const {
    const auto found = std::ranges::find(lines_, client, &Line::client);
    return found == lines_.end() ? 0 : found->items.size();
  }
  const Item& front() const { return lines_.front().items.front(); }  // next item; requires !empty()

  Item pop() { return take(lines_.begin()); }  // remove and return the next item; requires !empty()

  // Return the next item, considering only clients for which may(client, first item of the client) is true.
  // Null if there is no such client.
  template <class May>
  const Item* front_of(const May& may) const {
    const auto found = find(lines_, may);
    return found == lines_.end() ? nullptr : &found->items.front();
  }
  // Remove the item that front_of(may) returns, and store it and its client in `item` and `client`. Returns
  // false if there is none.
  template <class May>
  bool pop_of(const May& may, Item& item, std::string& client) {
    const auto found = find(lines_, may);
    if (found == lines_.end()) return false;
    client = found->client;
    item = take(found);
    return true;
  }

  // Remove the items for which test(item) is true.
  template <class Test>
  void remove_if(const Test& test) {
    for (Line& line : lines_) size_ -= std::erase_if(line.items, test);
    std::erase_if(lines_, [](const Line& line) { return line.items.empty(); });
  }

 private:
  struct Line {
    std::string client;
    std::deque<Item> items;
  };

  template <class Lines, class May>
  static auto find(Lines& lines, const May& may) {
    return std::ranges::find_if(lines,
                                [&](const Line& line) { return may(line.client, line.items.front()); });
  }

  Item take(typename std::deque<Line>::iterator at) {
    Line line = std::move(*at);
    lines_.erase(at);
    Item item = std::move(line.items.front());
    line.items.pop_front();
    --size_;
    if (!line.items.empty()) lines_.push_back(std::move(line));
    return item;
  }

  std::deque<Line> lines_;  // non-empty queues of items, one per client; the first one is served next
  std::size_t size_ = 0;
};

}  // namespace regard::serve
