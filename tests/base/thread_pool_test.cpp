#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace regard {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceForAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> runs(97);
      pool.parallel_for(97, [&](std::int64_t task, int worker) {
        EXPECT_LT(worker, threads);
        ++runs[static_cast<std::size_t>(task)];
      });
      for (const auto& count : runs) ASSERT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, RethrowsAndStaysUsable) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_for(10,
                                 [](std::int64_t task, int) {
                                   if (task == 4) throw std::runtime_error("x");
                                 }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  pool.parallel_for(10, [&](std::int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 10);
}

TEST(ThreadPool, ALoopInsideALoopRunsInline) {
  ThreadPool pool(2);
  std::atomic<int> runs = 0;
  pool.parallel_for(4, [&](std::int64_t, int outer) {
    pool.parallel_for(3, [&](std::int64_t, int inner) {
      EXPECT_EQ(inner, outer);
      ++runs;
    });
  });
  EXPECT_EQ(runs, 12);
}

// Threads that compute all the time, until they go out of scope.
class Competitors {
 public:
  explicit Competitors(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!stop_) {
        }
      });
  }
  ~Competitors() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Short loops, of so many tasks of some microseconds each.
double seconds_of_loops(ThreadPool& pool, int loops, std::int64_t tasks) {
  const Stopwatch watch;
  std::atomic<std::uint64_t> sum = 0;
  for (int loop = 0; loop < loops; ++loop)
    pool.parallel_for(tasks, [&](std::int64_t task, int) {
      auto own = static_cast<std::uint64_t>(task);
      for (std::uint64_t i = 0; i < 5000; ++i) own = own * 31 + i;
      sum += own;
    });
  EXPECT_NE(sum, 1U);
  return watch.seconds();
}

// A loop waits for the workers that came in, never for one that the system does not let run: with every core
// taken by others it may lose its parallelism, but not more. A pool that waits for all is slower by the
// length of time slices: tens of times.
TEST(ThreadPool, OthersOnAllCoresSlowALoopAboutInProportion) {
  const Competitors others(usable_cores());
  const auto seconds_of = [](ThreadPool& pool) { return seconds_of_loops(pool, 300, 8); };
  ThreadPool alone(1), together(2);
  double best_alone = 1e9, best_together = 1e9;
  for (int round = 0; round < 5; ++round) {
    best_alone = std::min(best_alone, seconds_of(alone));
    best_together = std::min(best_together, seconds_of(together));
  }
  EXPECT_LT(best_together, 3.0 * best_alone);
}

// One core of several is taken: a pool that would use it is about as quick as one that leaves it alone. (What
// the pool decides for that is held by crowding_test.cpp.)
TEST(ThreadPool, OneBusyProcessCostsAboutItsCore) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's time is not the pool's";
#endif
  const int cores = usable_cores();
  if (cores < 2) GTEST_SKIP() << "one core only";
  const Competitors other(1);
  const auto seconds_of = [](ThreadPool& pool) { return seconds_of_loops(pool, 2000, 16); };
  ThreadPool without(cores - 1), with(cores);
  double best_without = 1e9, best_with = 1e9;
  for (int round = 0; round < 3; ++round) {
    best_without = std::min(best_without, seconds_of(without));
    best_with = std::min(best_with, seconds_of(with));
  }
  EXPECT_LT(best_with, 2.0 * best_without);
}

TEST(ThreadPool, HasAtLeastOneCore) {
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace regard
