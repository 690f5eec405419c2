#include "base/oversubscription_monitor.h"

#include <gtest/gtest.h>

#include "support/namespaces.h"

namespace regard::testing {
namespace {

// Simulates measurement windows of a thread pool. Each window loses a given part of its time and adds a given
// number of involuntary context switches.
class SimulatedPool {
 public:
  explicit SimulatedPool(int threads) : monitor_(threads) { pass(0, 0); }
  int pass(double lost_part, std::int64_t switches) {
    const double elapsed = 1.01 * OversubscriptionMonitor::kWindow;
    now_ += elapsed;
    switches_ += switches;
    monitor_.lost(lost_part * elapsed);
    monitor_.update(now_, [this] { return switches_; });
    return monitor_.active();
  }

 private:
  OversubscriptionMonitor monitor_;
  double now_ = 0;
  std::int64_t switches_ = 100;
};

TEST(OversubscriptionMonitor, ParksAThreadIfOtherProcessesCostTime) {
  SimulatedPool pool(4);
  EXPECT_EQ(pool.pass(0.6, 8), 3);
}

TEST(OversubscriptionMonitor, UnevenLoopsOnAFreeMachineKeepTheirThreads) {
  SimulatedPool pool(4);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(pool.pass(0.6, 1), 4);
}

TEST(OversubscriptionMonitor, LongLoopsOnABusyMachineKeepTheirThreads) {
  SimulatedPool pool(4);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(pool.pass(0.1, 8), 4);
}

TEST(OversubscriptionMonitor, OneThreadAlwaysStays) {
  SimulatedPool pool(2);
  for (int window = 0; window < 10; ++window) EXPECT_GE(pool.pass(0.9, 50), 1);
}

TEST(OversubscriptionMonitor, UsesAllThreadsAgainWhenTheMachineIsIdle) {
  SimulatedPool pool(2);
  ASSERT_EQ(pool.pass(0.6, 8), 1);
  int windows = 0;
  while (pool.pass(0, 0) == 1) ASSERT_LT(++windows, 5);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(pool.pass(0.05, 0), 2);
}

TEST(OversubscriptionMonitor, TriesLessOftenWhileTheMachineIsBusy) {
  SimulatedPool pool(2);
  int tries = 0, last = 2;
  constexpr int kWindows = 400;  // 20 seconds
  for (int window = 0; window < kWindows; ++window) {
    const int active = pool.pass(last == 2 ? 0.6 : 0.0, last == 2 ? 8 : 1);
    tries += active == 2 ? 1 : 0;
    last = active;
  }
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, kWindows / 20);
}

TEST(OversubscriptionMonitor, EvaluatesOncePerWindow) {
  OversubscriptionMonitor monitor(2);
  int asked = 0;
  const auto count = [&] { return std::int64_t{++asked}; };
  for (double now = 0; now < 0.99 * OversubscriptionMonitor::kWindow; now += 1e-4) monitor.update(now, count);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace regard::testing
