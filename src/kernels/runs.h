// Work stealing over units that are contiguous in memory and read once. Each thread gets a contiguous range;
// a thread that has finished its range takes units from the ranges of other threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace regard::kernels {

class Runs {
 public:
  Runs(std::int64_t units, int threads) : runs_(std::clamp(threads, 1, kMostRuns)) {
    for (int i = 0; i < runs_; ++i) {
      run_[i].next.store(units * i / runs_, std::memory_order_relaxed);
      run_[i].end = units * (i + 1) / runs_;
    }
  }

  // Call body(unit) for the units in the range of `worker`, then for units of the other ranges, until every
  // unit has been taken.
  template <class Body>
  void take(int worker, Body&& body) {
    for (int i = 0; i < runs_; ++i) {
      Run& run = run_[(worker + i) % runs_];
      for (std::int64_t unit; (unit = run.next.fetch_add(1, std::memory_order_relaxed)) < run.end;)
        body(unit);
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
