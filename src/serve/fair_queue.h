// A queue that is fair to clients (round robin): the next item belongs to the client served longest ago.
// Items of one client keep their order. Not thread-safe.
#pragma once

#include <deque>
#include <optional>
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
  const Item& front() const { return lines_.front().items.front(); }  // requires !empty()

  Item pop() {  // requires !empty()
    Line line = std::move(lines_.front());
    lines_.pop_front();
    Item item = std::move(line.items.front());
    line.items.pop_front();
    --size_;
    if (!line.items.empty()) lines_.push_back(std::move(line));
    return item;
  }

  // Remove the items for which test(item) holds.
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
  std::deque<Line> lines_;  // no line is empty; the first is served next
  std::size_t size_ = 0;
};

}  // namespace regard::serve
