#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "support/in_child.h"
#include "support/namespaces.h"

namespace regard::testing {
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

// Threads that compute continuously until the object is destroyed.
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

// Return the time in seconds of `loops` parallel loops, each with `tasks` tasks of a few microseconds.
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

// A loop waits only for workers that have started on it. With other threads on all cores, it is therefore not
// much slower than on one thread; if it waited for all workers, it would be tens of times slower.
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

// One core is busy: a pool on all cores is about as fast as a pool with one thread less.
// (oversubscription_monitor_test tests when a thread is parked.)
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

// wait_until() throws if another task of the loop throws.
TEST(ThreadPool, WhoWaitsForATaskThatThrewGivesUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> waits = false;
    const auto body = [&](std::int64_t task, int) {
      if (task == 1) {
        waits = true;
        pool.wait_until([] { return false; });
      }
      // Give the other thread time to start. It may not start at all if all cores are busy.
      for (const Stopwatch watch; !waits && watch.seconds() < 0.05;) std::this_thread::yield();
      throw std::runtime_error("task 0");
    };
    try {
      pool.parallel_for(2, body);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "task 0");
    }
  }
  std::atomic<int> ready = 0;
  pool.parallel_for(4, [&](std::int64_t task, int) {
    if (task == 3) pool.wait_until([&] { return ready == 3; });
    ++ready;
  });
  EXPECT_EQ(ready, 4);
}

std::atomic<int> threads_left = 0;

// Start a thread as on a system with a limit on the number of threads.
std::thread start_while_allowed(std::function<void()> work) {
  if (threads_left-- <= 0)
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  return std::thread(std::move(work));
}

TEST(ThreadPool, HasTheThreadsThatTheSystemAllows) {
  for (const int allowed : {0, 1, 3}) {
    threads_left = allowed;
    ThreadPool pool(6, start_while_allowed);
    ASSERT_EQ(pool.size(), allowed + 1);
    const std::string counts = std::to_string(allowed + 1) + " of 6 threads";
    EXPECT_NE(pool.warning().find(counts), std::string::npos) << pool.warning();
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> runs = 0;
      pool.parallel_for(40, [&](std::int64_t, int worker) {
        EXPECT_LE(worker, allowed);
        ++runs;
      });
      ASSERT_EQ(runs, 40);
    }
  }
  threads_left = 5;
  EXPECT_EQ(ThreadPool(6, start_while_allowed).warning(), "");
}

// The body of a loop may run a loop on another pool.
TEST(ThreadPool, ABodyMayUseAnotherPool) {
  ThreadPool outer(4), other(1);
  std::atomic<int> runs = 0;
  for (int round = 0; round < 20; ++round)
    outer.parallel_for(8, [&](std::int64_t, int worker) {
      const auto turn = other.take_turn();
      EXPECT_TRUE(turn.owns_lock());
      EXPECT_EQ(other.current_worker(), 0);
      EXPECT_EQ(outer.current_worker(), worker);
      other.parallel_for(3, [&](std::int64_t, int inner) {
        EXPECT_EQ(inner, 0);
        ++runs;
      });
      EXPECT_EQ(outer.current_worker(), worker);
    });
  EXPECT_EQ(runs, 20 * 8 * 3);
}

int sum_of_tasks(ThreadPool& pool) {
  std::atomic<int> sum = 0;
  pool.parallel_for(100, [&](std::int64_t task, int worker) {
    pool.scratch(worker, 1000)[0] = std::byte{1};
    sum += static_cast<int>(task);
  });
  return sum;
}

#if defined(__SANITIZE_ADDRESS__)
// If another thread is in the sanitizer's allocator at the time of the fork, the child waits for it forever.
constexpr bool kForksBesideThreads = false;
#else
constexpr bool kForksBesideThreads = true;
#endif

// A child of fork() has none of the pool's threads: it computes on the calling thread and does not wait for
// them when it exits.
TEST(ThreadPool, AChildComputesAloneAndExits) {
  if (!kForksBesideThreads) GTEST_SKIP() << "the sanitizer's allocator does not support it";
  auto pool = std::make_unique<ThreadPool>(3);
  EXPECT_EQ(sum_of_tasks(*pool), 4950);
  const int code = testing::exit_code_in_child([&] {
    const bool right = pool->size() == 1 && sum_of_tasks(*pool) == 4950 && sum_of_tasks(*pool) == 4950;
    pool.reset();
    return right ? 7 : 8;
  });
  EXPECT_EQ(code, 7);
  EXPECT_EQ(pool->size(), 3);
  EXPECT_EQ(sum_of_tasks(*pool), 4950);
}

// A child does not wait for the lock of take_turn() if another thread held it at the time of the fork.
TEST(ThreadPool, AChildDoesNotWaitForThreadsOfItsParent) {
  if (!kForksBesideThreads) GTEST_SKIP() << "the sanitizer's allocator does not support it";
  ThreadPool pool(2);
  std::atomic<bool> inside = false, stop = false;
  std::thread other([&] {
    const auto turn = pool.take_turn();
    pool.parallel_for(2, [&](std::int64_t, int) {
      inside = true;
      while (!stop) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const int code = testing::exit_code_in_child([&] { return sum_of_tasks(pool) == 4950 ? 7 : 8; });
  stop = true;
  other.join();
  EXPECT_EQ(code, 7);
  EXPECT_EQ(sum_of_tasks(pool), 4950);
}

// Threads that share a pool use its scratch memory only while they hold the lock of take_turn().
TEST(ThreadPool, ScratchIsOfOneThreadAtATime) {
  ThreadPool pool(2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const auto mine = static_cast<std::byte>(thread);
      for (int round = 0; round < 200; ++round) {
        const auto turn = pool.take_turn();
        const std::size_t bytes = 100 + 50 * static_cast<std::size_t>(round);
        pool.reserve_scratch(bytes);
        for (int worker = 0; worker < pool.size(); ++worker)
          std::fill_n(pool.scratch(worker, bytes), bytes, mine);
        pool.parallel_for(4, [&](std::int64_t, int worker) {
          if (pool.scratch(worker, bytes)[bytes - 1] != mine) ++wrong;
        });
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

// Tasks of one loop run at the same time: each of them waits until all of them have started.
TEST(ThreadPool, TasksRunAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> started = 0;
  std::vector<std::atomic<int>> workers(3);
  pool.parallel_for(3, [&](std::int64_t, int worker) {
    ++started;
    ++workers[static_cast<std::size_t>(worker)];
    for (const Stopwatch watch; started < 3 && watch.seconds() < 60;) std::this_thread::yield();
    EXPECT_EQ(started, 3);
  });
  for (const auto& tasks : workers) EXPECT_EQ(tasks, 1);
}

// Any worker may get the largest task of the next loop, and a task must not allocate memory.
TEST(ThreadPool, ALoopFirstGivesEveryWorkerTheLargestScratch) {
  constexpr std::size_t kBytes = 1'000'000;
  ThreadPool pool(4);
  const auto size_of = [&](int worker) { return ::malloc_usable_size(pool.scratch(worker, 1)); };
  for (int worker = 0; worker < 4; ++worker) EXPECT_LT(size_of(worker), kBytes) << worker;
  pool.scratch(1, kBytes);
  pool.parallel_for(2, [](std::int64_t, int) {});
  EXPECT_LT(size_of(0), kBytes) << "the caller's scratch may be in use";
  for (int worker = 1; worker < 4; ++worker) EXPECT_GE(size_of(worker), kBytes) << worker;
}

TEST(ThreadPool, HasAtLeastOneCore) {
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace regard::testing
