// Exchanges between ranks: every rank gets the values of all, and a silent rank ends the wait with an error
// that names it.
#include "distributed/ranks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/clock.h"
#include "distributed/launch.h"
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
      // Texts of different lengths, empty ones too.
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
    // Larger than one message.
    std::vector<std::uint32_t> numbers(Exchange::kLargest / 4 + 1000);
    if (ranks.rank() == 2) std::iota(numbers.begin(), numbers.end(), 5u);
    ranks.broadcast(2, std::as_writable_bytes(std::span(numbers)));
    EXPECT_EQ(numbers.front(), 5u);
    EXPECT_EQ(numbers.back(), 5u + numbers.size() - 1);
  });
}

TEST(Ranks, ASilentRankEndsTheWaitAndIsNamed) {
  ThreadNetwork network(3);
  network.silence(1, 4);  // in the third exchange
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
  // Rank 2 may wait for rank 1 as well, and is then silent too.
  EXPECT_TRUE(text.find("for rank 1") != text.npos || text.find("for ranks 1, 2") != text.npos) << text;
  EXPECT_LT(watch.seconds(), 30.0);
}

TEST(Launch, WithoutALauncherThereIsOneProcess) {
  EXPECT_EQ(launched_processes(), 1);
  const auto ranks = join();
  EXPECT_TRUE(ranks->alone());
  EXPECT_TRUE(ranks->first());
  EXPECT_EQ(ranks->gather(3), std::vector<int>{3});
  ranks->close();
}

}  // namespace
}  // namespace regard::distributed
