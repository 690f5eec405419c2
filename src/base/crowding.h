// Whether all threads of a pool are worth having. A thread that shares its core with another process is
// stopped for a time slice, some milliseconds, and whoever waits for it at a loop's end loses them: where
// loops last microseconds, a thread less is then quicker. Watches what is lost, leaves a thread out for a
// while, and tries it again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace regard {

class Crowding {
 public:
  explicit Crowding(int threads) : threads_(threads), active_(threads) {}

  // As many threads as the next loop should use, at least 1.
  int active() const noexcept { return active_; }

  // What the caller of a loop has waited beyond what threads that run would need.
  void lost(double seconds) noexcept { lost_ += seconds; }

  // Looks at what has passed since the last look, once a window. `now`: seconds of a steady clock.
  // `count_switches()`: how often this process's threads have had to leave their core to others so far. True
  // if active() changed.
  template <class CountSwitches>
  bool look(double now, CountSwitches count_switches) {
    const double elapsed = now - begin_;
    if (begun_ && elapsed < kWindow) return false;
    const std::int64_t switches = count_switches();
    const int before = active_;
    if (begun_) {
      const bool stopped_by_others =
          static_cast<double>(switches - switches_) >= kFewSwitches * elapsed / kWindow;
      decide(stopped_by_others && lost_ >= kCostlyPart * elapsed, now);
    }
    begun_ = true;
    begin_ = now;
    switches_ = switches;
    lost_ = 0;
    return active_ != before;
  }

  static constexpr double kWindow = 0.05;
  static constexpr double kShortestRest = 0.1, kLongestRest = 1.6;

 private:
  // An idle machine takes a core away now and then; a busy process does it at every time slice, some 7 times
  // in a window.
  static constexpr double kFewSwitches = 4;
  static constexpr double kCostlyPart = 0.25;

  void decide(bool crowded, double now) noexcept {
    if (active_ > 1 && crowded) {
      --active_;
      rest_ = std::clamp(2 * rest_, kShortestRest, kLongestRest);
      again_ = now + rest_;
    } else if (active_ < threads_ && now >= again_) {
      ++active_;
    } else if (active_ == threads_) {
      rest_ = 0;
    }
  }

  int threads_, active_;
  bool begun_ = false;
  double begin_ = 0, lost_ = 0, rest_ = 0, again_ = 0;
  std::int64_t switches_ = 0;
};

}  // namespace regard
