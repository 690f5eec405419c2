#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

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

TEST(ThreadPool, HasAtLeastOneCore) {
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace regard
