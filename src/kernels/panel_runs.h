// The panels of a matrix that is read once from end to end, shared out: each thread reads a run of
// neighbours, since memory is fastest to who reads on where it was, and then helps with what others have
// left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace regard::kernels {

class PanelRuns {
 public:
  PanelRuns(std::int64_t panels, int threads) : runs_(std::clamp(threads, 1, kMostRuns)) {
    for (int i = 0; i < runs_; ++i) {
      run_[i].next.store(panels * i / runs_, std::memory_order_relaxed);
      run_[i].end = panels * (i + 1) / runs_;
    }
  }

  // body(panel) for one panel after the other, until none is left that nobody has taken.
  template <class Body>
  void take(int worker, Body&& body) {
    for (int i = 0; i < runs_; ++i) {
      Run& run = run_[(worker + i) % runs_];
      for (std::int64_t panel; (panel = run.next.fetch_add(1, std::memory_order_relaxed)) < run.end;)
        body(panel);
    }
  }

 private:
  static constexpr int kMostRuns = 64;
  struct alignas(64) Run {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  int runs_;
  Run run_[kMostRuns];
};

}  // namespace regard::kernels
