// Search for the best segmentation of a text (Viterbi 1967), in windows to limit the memory. A window ends at
// a position that no piece crosses, because the best segmentation up to this position is final.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regard::text {

// Arrival describes the best segmentation up to a position, and may have further data of the caller. It must
// have a `score` and `from`: the previous position relative to the window, or −1 if the position was not
// reached.
template <class Arrival>
class Lattice {
 public:
  using Score = decltype(Arrival::score);

  // Segment a text of `size` bytes; `start` is the score at position 0.
  // extend(begin, score) must call reach() for every piece that starts at `begin`, and return the next
  // position. take(begin, end, arrival) is called for each piece of the best segmentation in order;
  // arrival.from is undefined.
  template <class Extend, class Take>
  void solve(std::size_t size, Score start, const Extend& extend, const Take& take) {
    base_ = furthest_ = 0;
    open(std::min(size, kWindow + kRoom), start);
    for (std::size_t begin = 0; begin < size;) {
      if (begin - base_ >= kWindow && furthest_ == begin) {
        const Score score = best_[begin - base_].score;
        settle(begin, take);
        base_ = begin;
        open(kWindow + kRoom, score);
      }
      begin = extend(begin, best_[begin - base_].score);
    }
    settle(size, take);
  }

  // Return the best segmentation found so far that ends at `end`. The caller overwrites it if it finds a
  // better one.
  Arrival& reach(std::size_t end) {
    furthest_ = std::max(furthest_, end);
    if (end - base_ >= best_.size()) best_.resize(end - base_ + kRoom);
    return best_[end - base_];
  }
  std::int32_t from(std::size_t begin) const noexcept { return static_cast<std::int32_t>(begin - base_); }

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 14, kRoom = 1024;

  void open(std::size_t places, Score score) {
    best_.assign(places + 1, Arrival{});
    best_[0].score = score;
  }

  template <class Take>
  void settle(std::size_t end, const Take& take) {
    // Follow the `from` links from the end to the start, and reverse the direction of each link.
    std::int32_t next = -1;
    for (auto place = static_cast<std::int32_t>(end - base_); place > 0;) {
      const std::int32_t before = best_[static_cast<std::size_t>(place)].from;
      best_[static_cast<std::size_t>(place)].from = next;
      next = place;
      place = before;
    }
    for (std::size_t begin = base_; next >= 0;) {
      const Arrival& arrival = best_[static_cast<std::size_t>(next)];
      const std::size_t reached = base_ + static_cast<std::size_t>(next);
      take(begin, reached, arrival);
      begin = reached;
      next = arrival.from;
    }
  }

  std::vector<Arrival> best_;
  std::size_t base_ = 0, furthest_ = 0;
};

}  // namespace regard::text
