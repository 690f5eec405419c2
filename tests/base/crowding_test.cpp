#include "base/crowding.h"

#include <gtest/gtest.h>

namespace regard {
namespace {

// Simulates windows of a pool's run time. Each window loses a given part of its time and adds a given number
// of involuntary context switches.
class Life {
 public:
  explicit Life(int threads) : crowding_(threads) { pass(0, 0); }
  int pass(double lost_part, std::int64_t switches) {
    const double elapsed = 1.01 * Crowding::kWindow;
    now_ += elapsed;
    switches_ += switches;
    crowding_.lost(lost_part * elapsed);
    crowding_.look(now_, [this] { return switches_; });
    return crowding_.active();
  }

 private:
  Crowding crowding_;
  double now_ = 0;
  std::int64_t switches_ = 100;
};

TEST(Crowding, LeavesAThreadOutWhereOthersTakeItsCoreAndTimeIsLost) {
  Life life(4);
  EXPECT_EQ(life.pass(0.6, 8), 3);
}

TEST(Crowding, UnevenLoopsOnAFreeMachineKeepTheirThreads) {
  Life life(4);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(life.pass(0.6, 1), 4);
}

TEST(Crowding, LongLoopsOnABusyMachineKeepTheirThreads) {
  Life life(4);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(life.pass(0.1, 8), 4);
}

TEST(Crowding, OneThreadAlwaysStays) {
  Life life(2);
  for (int window = 0; window < 10; ++window) EXPECT_GE(life.pass(0.9, 50), 1);
}

TEST(Crowding, TriesAgainAndComesBackWhenTheOthersHaveGone) {
  Life life(2);
  ASSERT_EQ(life.pass(0.6, 8), 1);
  int windows = 0;
  while (life.pass(0, 0) == 1) ASSERT_LT(++windows, 5);
  for (int window = 0; window < 10; ++window) EXPECT_EQ(life.pass(0.05, 0), 2);
}

TEST(Crowding, TriesLessOftenWhileTheOthersStay) {
  Life life(2);
  int tries = 0, last = 2;
  constexpr int kWindows = 400;  // 20 seconds
  for (int window = 0; window < kWindows; ++window) {
    const int active = life.pass(last == 2 ? 0.6 : 0.0, last == 2 ? 8 : 1);
    tries += active == 2 ? 1 : 0;
    last = active;
  }
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, kWindows / 20);
}

TEST(Crowding, LooksOnceAWindowOnly) {
  Crowding crowding(2);
  int asked = 0;
  const auto count = [&] { return std::int64_t{++asked}; };
  for (double now = 0; now < 0.99 * Crowding::kWindow; now += 1e-4) crowding.look(now, count);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace regard
