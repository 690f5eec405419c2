// Reduces the number of active threads of a pool, one at a time, while the system suspends threads of the
// pool to run other processes, and increases it again later. A loop waits several milliseconds for a
// suspended thread, so short loops are faster with one thread fewer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/namespaces.h"

namespace regard::base {

class OversubscriptionMonitor {
 public:
  explicit OversubscriptionMonitor(int threads) : threads_(threads), active_(threads) {}

  // Return the number of threads that the next loop should use, at least 1.
  int active() const noexcept { return active_; }

  // Add the time in seconds that the caller of a loop spent waiting for suspended threads.
  void lost(double seconds) noexcept { lost_ += seconds; }

  // Decide once per kWindow seconds whether to change active(); return true if it changed. `now` is the time
  // of a steady clock in seconds; count_switches() returns the number of involuntary context switches of this
  // process so far.
  template <class CountSwitches>
  bool update(double now, CountSwitches count_switches) {
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
  // Threshold of involuntary context switches per kWindow seconds: an idle machine has few, and a busy
  // process causes one per time slice, about 7 per kWindow seconds.
  static constexpr double kFewSwitches = 4;
  static constexpr double kCostlyPart = 0.25;

  void decide(bool oversubscribed, double now) noexcept {
    if (active_ > 1 && oversubscribed) {
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

}  // namespace regard::base
