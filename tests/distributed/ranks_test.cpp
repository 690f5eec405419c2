// Exchanges between ranks: every rank gets the values of all ranks. If a rank sends nothing, the ranks that
// wait for it end with an error that names the silent rank.
#include "distributed/ranks.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "distributed/launch.h"
#include "distributed/stop_vote.h"
#include "distributed/thread_transport.h"
#include "regard/error.h"

namespace regard::distributed {
namespace {

using testing::on_ranks;
using testing::ThreadNetwork;

TEST(Ranks, GatherGivesEveryRankAllValuesInOrder) {
  for (const int size : {1, 2, 5}) {
    on_ranks(size, [size](Ranks& ranks) {
      const std::vector<int> values = ranks.gather(10 * ranks.rank());
      ASSERT_EQ(values.size(), static_cast<std::size_t>(size));
      for (int rank = 0; rank < size; ++rank) EXPECT_EQ(values[static_cast<std::size_t>(rank)], 10 * rank);
      // The texts have different lengths; one is empty.
      const std::string mine(static_cast<std::size_t>(ranks.rank() * 3), 'x');
      const std::vector<std::string> texts = ranks.gather(mine);
      for (int rank = 0; rank < size; ++rank)
        EXPECT_EQ(texts[static_cast<std::size_t>(rank)].size(), static_cast<std::size_t>(3 * rank));
    });
  }
}

TEST(Ranks, BroadcastAndAny) {
  on_ranks(4, [](Ranks& ranks) {
    EXPECT_EQ(ranks.from_first(7 + ranks.rank()), 7);
    EXPECT_TRUE(ranks.any(ranks.rank() == 3));
    EXPECT_FALSE(ranks.any(false));
    // The array is larger than one message.
    std::vector<std::uint32_t> numbers(Exchange::kLargest / 4 + 1000);
    if (ranks.rank() == 2) std::iota(numbers.begin(), numbers.end(), 5u);
    ranks.broadcast(2, std::as_writable_bytes(std::span(numbers)));
    EXPECT_EQ(numbers.front(), 5u);
    EXPECT_EQ(numbers.back(), 5u + numbers.size() - 1);
  });
}

TEST(Ranks, ASilentRankEndsTheWaitAndIsNamed) {
  ThreadNetwork network(3);
  network.silence(1, 4);  // rank 1 stops sending in the third exchange
  const Stopwatch watch;
  const Error error = testing::error_of([&] {
    on_ranks(
        network,
        [](Ranks& ranks) {
          for (int i = 0; i < 5; ++i) ranks.barrier();
        },
        0.2);
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  const std::string text = error.what();
  EXPECT_NE(text.find("rank 0 of 3 has waited 0.2 s for rank"), std::string::npos) << text;
  // Rank 2 may also wait for rank 1; the message then names both.
  EXPECT_TRUE(text.find("for rank 1") != text.npos || text.find("for ranks 1, 2") != text.npos) << text;
  EXPECT_LT(watch.seconds(), 30.0);
}

// The connection of rank 1 of 3, which fails at one of its functions.
class BrokenTransport : public Transport {
 public:
  explicit BrokenTransport(const char* part, int* exit_code = nullptr) : part_(part), exit_code_(exit_code) {}
  int rank() const override { return 1; }
  int size() const override { return 3; }
  int local_size() const override { return 2; }
  bool send(int, const std::byte*, std::size_t, int, Channel) override { return part_ != "send"; }
  bool receive(int, std::byte*, std::size_t, int, Channel) override { return part_ != "receive"; }
  bool completed(std::vector<int>&) override { return part_ != "completed"; }
  std::string failure() const override { return part_ + " failed"; }
  void close() override {}
  void abort(int exit_code) override { *exit_code_ = exit_code; }

 private:
  std::string part_;
  int* exit_code_;
};

TEST(Ranks, AFailureOfTheConnectionIsAnError) {
  for (const char* part : {"send", "receive", "completed"}) {
    const std::string message = "rank 1 of 3 cannot reach the other ranks (found " + std::string(part) +
                                " failed). Check the machines and the network, then continue from the last "
                                "checkpoint with --resume";
    for (const auto& use :
         {+[](Ranks& ranks) { ranks.barrier(); }, +[](Ranks& ranks) { StopVote(ranks).finish(true); }}) {
      Ranks ranks(std::make_unique<BrokenTransport>(part));
      const Error error = testing::error_of([&] { use(ranks); });
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_NE(std::string(error.what()).find(message.substr(0, message.find(')'))), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("--resume"), std::string::npos) << error.what();
    }
  }
}

// Both ranks are named once, although several messages to and from each of them are missing.
TEST(Ranks, AllSilentRanksAreNamedOnce) {
  for (const auto& use :
       {+[](Ranks& ranks) { ranks.barrier(); }, +[](Ranks& ranks) { StopVote(ranks).finish(true); }}) {
    Ranks ranks(std::make_unique<BrokenTransport>("nothing"));
    ranks.set_timeout(0.01);
    EXPECT_EQ(ranks.timeout(), 0.01);
    EXPECT_EQ(ranks.local_size(), 2);
    const Error error = testing::error_of([&] { use(ranks); });
    EXPECT_NE(std::string(error.what())
                  .find("rank 1 of 3 has waited 0.01 s for ranks 0, 2 (expected a message within "
                        "'distributed.timeout', found none)"),
              std::string::npos)
        << error.what();
  }
}

TEST(Ranks, AbortEndsAllRanks) {
  int exit_code = 0;
  Ranks(std::make_unique<BrokenTransport>("", &exit_code)).abort(3);
  EXPECT_EQ(exit_code, 3);
  Ranks().abort(3);  // has no effect, because there is only one rank
}

TEST(Exchange, ReturnsTheIndexOfTheLastMessage) {
  Ranks ranks(std::make_unique<BrokenTransport>(""));
  Exchange exchange(ranks);
  std::vector<std::byte> data(2 * Exchange::kLargest);
  const std::span<std::byte> all(data);
  EXPECT_EQ(exchange.send(0, all.first(1)), 0u);
  EXPECT_EQ(exchange.receive(0, all.first(Exchange::kLargest)), 1u);
  EXPECT_EQ(exchange.receive(2, all.first(Exchange::kLargest + 1)), 3u);
  EXPECT_EQ(exchange.send(2, all), 5u);
  EXPECT_EQ(exchange.send(2, all.first(0)), 5u) << "nothing is sent";
  EXPECT_TRUE(exchange.done(2, 2));
  EXPECT_FALSE(exchange.done(5, 6));
}

// A stop of rank 1 at its third step stops the other ranks long before their last step, within the time limit
// of 0.5 s. Other exchanges are possible during the vote, and a second vote starts with no votes.
TEST(StopVote, OneRankStopsAllWithoutATimeout) {
  constexpr int kSteps = 2000;
  ThreadNetwork network(3);
  std::vector<int> steps(3);
  on_ranks(
      network,
      [&](Ranks& ranks) {
        StopVote vote(ranks);
        EXPECT_EQ(ranks.gather(ranks.rank()), (std::vector<int>{0, 1, 2}));
        int& step = steps[static_cast<std::size_t>(ranks.rank())];
        bool stopped = false;
        while (!stopped && step < kSteps) {
          ++step;
          if (ranks.rank() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          stopped = vote.stopped(ranks.rank() == 1 && step == 3);
        }
        EXPECT_TRUE(vote.finish(stopped));
        StopVote again(ranks);
        EXPECT_FALSE(again.stopped(false));
        EXPECT_FALSE(again.finish(false));
        ranks.barrier();
      },
      0.5);
  EXPECT_EQ(steps[1], 3);
  EXPECT_LT(steps[0], kSteps);
  EXPECT_LT(steps[2], kSteps);
}

// If a rank is told to stop after the others have finished, all ranks count as stopped.
TEST(StopVote, ALateStopCountsOnAllRanks) {
  on_ranks(4, [](Ranks& ranks) {
    StopVote vote(ranks);
    if (ranks.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(vote.finish(ranks.rank() == 2));
  });
  Ranks alone;
  StopVote vote(alone);
  EXPECT_FALSE(vote.stopped(false));
  EXPECT_TRUE(vote.stopped(true));
  EXPECT_TRUE(vote.finish(false));
}

// Rank 2 has voted, so only rank 1 is named.
TEST(StopVote, ASilentRankIsNamed) {
  ThreadNetwork network(3);
  network.silence(1, 0);
  const Error error = testing::error_of([&] {
    on_ranks(
        network, [](Ranks& ranks) { StopVote(ranks).finish(false); }, 0.2);
  });
  EXPECT_NE(std::string(error.what()).find("rank 0 of 3 has waited 0.2 s for rank 1 (expected a message"),
            std::string::npos)
      << error.what();
}

TEST(Launch, WithoutALauncherThereIsOneProcess) {
  EXPECT_EQ(launched_processes(), 1);
  const auto ranks = join();
  EXPECT_TRUE(ranks->alone());
  EXPECT_TRUE(ranks->first());
  EXPECT_EQ(ranks->gather(3), std::vector<int>{3});
  ranks->close();
}

// A rank that is bound to one core keeps the binding if it uses one thread, and loses it if it uses two.
TEST(Launch, ABindingStaysIfItHasEnoughCores) {
  const int host = usable_cores();
  if (host < 2) GTEST_SKIP() << "one core";
  on_ranks(2, [host](Ranks& ranks) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const HostShare kept = share_host(ranks, 1);
    EXPECT_EQ(kept.text(), "1 thread each, bound to 1 core each");
    EXPECT_EQ(usable_cores(), 1);
    const HostShare widened = share_host(ranks, 2);
    EXPECT_EQ(widened.text(), "2 threads each, not bound to cores");
    EXPECT_EQ(usable_cores(), host);
    EXPECT_EQ(share_host(ranks, 0).threads, std::max(1, host / 2));
  });
}

}  // namespace
}  // namespace regard::distributed
