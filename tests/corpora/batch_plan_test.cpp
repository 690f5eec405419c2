// The order of training data: every example occurs, batches respect their limits, and the seed determines the
// order.
#include "data/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

PairStore random_pairs(std::size_t count, std::uint64_t seed) {
  RandomStream random({seed, 0, 0});
  PairStore pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.source.add(std::vector<std::int32_t>(1 + random.next_below(30), 5));
    pairs.target.add(std::vector<std::int32_t>(1 + random.next_below(30), 7));
  }
  return pairs;
}

std::vector<std::uint32_t> flat(const EpochPlan& plan) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < plan.batches(); ++i) order.insert(order.end(), plan[i].begin(), plan[i].end());
  return order;
}

TEST(EpochPlan, EveryPairOnceAndNoBatchTooLarge) {
  const PairStore pairs = random_pairs(5000, 1);
  for (const bool by_length : {true, false}) {
    EpochPlan plan;
    plan.make(pairs, {.batch_tokens = 200, .by_length = by_length, .seed = 3}, 0);
    const std::vector<std::uint32_t> order = flat(plan);
    EXPECT_EQ(order.size(), pairs.size());
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), pairs.size());
    for (std::size_t b = 0; b < plan.batches(); ++b) {
      std::size_t tokens = 0;
      for (const std::uint32_t pair : plan[b]) tokens += pairs.target.length(pair);
      EXPECT_TRUE(tokens <= 200 || plan[b].size() == 1);
    }
  }
}

TEST(EpochPlan, LongPairStandsAlone) {
  PairStore pairs;
  for (const int length : {3, 50, 3}) {
    pairs.source.add(std::vector<std::int32_t>(1, 5));
    pairs.target.add(std::vector<std::int32_t>(static_cast<std::size_t>(length), 7));
  }
  EpochPlan plan;
  plan.make(pairs, {.batch_tokens = 10, .seed = 1}, 0);
  EXPECT_EQ(plan.batches(), 2u);
}

// The offsets of the pairs are a sparse file, so that this test needs no disk space and no memory.
TEST(EpochPlan, RefusesMorePairsThanItsIndicesCanCount) {
  const testing::TemporaryFolder folder;
  const auto mapped = [&](const char* name, std::uint64_t bytes) {
    std::ofstream(folder / name);
    std::filesystem::resize_file(folder / name, bytes);
    return std::make_shared<MappedFile>(folder / name);
  };
  constexpr std::uint64_t kPairs = (std::uint64_t{1} << 32) + 1;
  PairStore pairs;
  pairs.source = TokenStore(mapped("ids", 0), mapped("offsets", (kPairs + 1) * sizeof(std::uint64_t)));
  EpochPlan plan;
  EXPECT_REGARD_ERROR(plan.make(pairs, {}, 0), ErrorKind::usage, "4294967297");
}

TEST(EpochPlan, SameSeedSameOrderAnotherEpochAnother) {
  const PairStore pairs = random_pairs(1000, 2);
  EpochPlan a, b, c, d;
  a.make(pairs, {.batch_tokens = 100, .seed = 3}, 4);
  b.make(pairs, {.batch_tokens = 100, .seed = 3}, 4);
  c.make(pairs, {.batch_tokens = 100, .seed = 3}, 5);
  d.make(pairs, {.batch_tokens = 100, .seed = 4}, 4);
  EXPECT_EQ(flat(a), flat(b));
  EXPECT_NE(flat(a), flat(c));
  EXPECT_NE(flat(a), flat(d));
}

// With bucketing, lengths within a batch vary less than in the corpus.
TEST(EpochPlan, BucketsHoldSimilarLengths) {
  const PairStore pairs = random_pairs(4000, 5);
  const auto spread = [&pairs](bool by_length) {
    EpochPlan plan;
    plan.make(pairs, {.batch_tokens = 200, .by_length = by_length, .seed = 1}, 0);
    double sum = 0;
    for (std::size_t b = 0; b < plan.batches(); ++b) {
      const auto [low, high] = std::minmax_element(
          plan[b].begin(), plan[b].end(),
          [&](std::uint32_t x, std::uint32_t y) { return pairs.target.length(x) < pairs.target.length(y); });
      sum += static_cast<double>(pairs.target.length(*high) - pairs.target.length(*low));
    }
    return sum / static_cast<double>(plan.batches());
  };
  EXPECT_LT(spread(true), 0.2 * spread(false));
}

TEST(RandomWindows, StayInsideAndReachBothEnds) {
  std::vector<std::int64_t> starts(2000), again(2000), other(2000);
  random_windows(1, 7, 20, 8, starts);
  random_windows(1, 7, 20, 8, again);
  random_windows(1, 8, 20, 8, other);
  EXPECT_EQ(starts, again);
  EXPECT_NE(starts, other);
  EXPECT_EQ(*std::min_element(starts.begin(), starts.end()), 0);
  EXPECT_EQ(*std::max_element(starts.begin(), starts.end()), 11);  // inputs 11 to 18, last label at 19
}

// Weights multiply the number of starts of a source. Source 1 has too few tokens for a window, source 2 has
// the weight 0, and the last source has starts only up to the end of the stream.
TEST(RandomWindows, OfWeightedSourcesAreDrawnInProportion) {
  std::vector<std::int64_t> starts(20000);
  random_windows(1, 7, 108, 8, starts,
                 std::vector<WeightedSource>{{20, 1.0}, {20, 5.0}, {40, 0.0}, {108, 3.0}});
  std::vector<double> counts(108);
  for (const std::int64_t start : starts) ++counts[static_cast<std::size_t>(start)];
  const double unit = 20000.0 / (20 + 3 * 60);  // expected number of draws of each start of source 0
  for (std::size_t start = 0; start < 108; ++start) {
    const double weight = start < 20 ? 1.0 : start < 40 || start >= 100 ? 0.0 : 3.0;
    EXPECT_NEAR(counts[start], weight * unit, weight * 0.3 * unit) << start;
  }
}

TEST(WindowPlan, CoversTheStreamOnce) {
  WindowPlan plan;
  plan.make(101, 10, 1, 0);
  std::vector<std::int64_t> starts(plan.starts().begin(), plan.starts().end());
  EXPECT_FALSE(std::is_sorted(starts.begin(), starts.end()));
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

// A corpus of several shuffle windows contains each pair once per epoch. Neighbouring batches read few
// blocks.
TEST(EpochPlan, WindowsOfALargeCorpusAreReadInBlocks) {
  const PairStore pairs = random_pairs(200000, 3);
  const EpochPlan::Options options{
      .batch_tokens = 100, .seed = 1, .window_tokens = static_cast<std::int64_t>(pairs.target.tokens() / 4)};
  EpochPlan plan, again, other;
  plan.make(pairs, options, 2);
  again.make(pairs, options, 2);
  other.make(pairs, options, 3);
  std::vector<std::uint32_t> order = flat(plan);
  EXPECT_EQ(order, flat(again));
  EXPECT_NE(order, flat(other));
  // A tenth of an epoch reads fewer than 700 of the 2000 blocks of 100 pairs. If the corpus is a single
  // shuffle window, it reads all blocks.
  const auto blocks_in_a_tenth = [](const std::vector<std::uint32_t>& pairs_read) {
    std::vector<bool> read(2000);
    for (std::size_t i = 0; i < pairs_read.size() / 10; ++i) read[pairs_read[i] / 100] = true;
    return std::count(read.begin(), read.end(), true);
  };
  EXPECT_LT(blocks_in_a_tenth(order), 700);
  EpochPlan whole;
  whole.make(pairs, {.batch_tokens = 100, .seed = 1}, 2);
  EXPECT_EQ(blocks_in_a_tenth(flat(whole)), 2000);
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  EXPECT_EQ(order.size(), 200000u);
}

TEST(EpochPlan, WeightsRepeatTheirSources) {
  const PairStore pairs = random_pairs(3000, 3);
  EpochPlan::Options options{
      .batch_tokens = 100, .seed = 1, .sources = {{1000, 2.0}, {2000, 0.25}, {3000, 0.0}}};
  const auto counts = [&](std::uint64_t epoch) {
    EpochPlan plan;
    plan.make(pairs, options, epoch);
    std::vector<int> counted(3000);
    for (const std::uint32_t pair : flat(plan)) ++counted[pair];
    return counted;
  };
  const std::vector<int> first = counts(0), second = counts(1);
  EXPECT_TRUE(std::all_of(first.begin(), first.begin() + 1000, [](int n) { return n == 2; }));
  EXPECT_NEAR(static_cast<double>(std::count(first.begin() + 1000, first.begin() + 2000, 1)), 250.0, 50.0);
  EXPECT_TRUE(std::all_of(first.begin() + 2000, first.end(), [](int n) { return n == 0; }));
  EXPECT_NE(first, second) << "another part in each epoch";
  options.sources = {{3000, 1.0}};
  EpochPlan plan, plain;
  plan.make(pairs, options, 0);
  plain.make(pairs, {.batch_tokens = 100, .seed = 1}, 0);
  EXPECT_EQ(flat(plan), flat(plain));
}

TEST(RandomWindows, OfALongStreamShareARegion) {
  constexpr std::int64_t kTokens = kRegion * 20;
  std::vector<std::int64_t> starts(1000), next(1000), later(1000);
  random_windows(1, 0, kTokens, 64, starts);
  random_windows(1, 1, kTokens, 64, next);
  random_windows(1, kRegionBatches, kTokens, 64, later);
  const auto low = *std::min_element(starts.begin(), starts.end());
  EXPECT_LT(*std::max_element(starts.begin(), starts.end()) - low, kRegion);
  EXPECT_LT(std::abs(*std::min_element(next.begin(), next.end()) - low), kRegion / 50);
  EXPECT_GT(std::abs(*std::min_element(later.begin(), later.end()) - low), kRegion / 50);
}

TEST(WindowPlan, OfALongStreamCoversItOnce) {
  WindowPlan plan;
  constexpr std::int64_t kContext = 1 << 12, kTokens = kRegion * 3 + 17;
  plan.make(kTokens, kContext, 1, 0);
  std::vector<std::int64_t> starts(plan.starts().begin(), plan.starts().end());
  std::sort(starts.begin(), starts.end());
  ASSERT_EQ(starts.size(), static_cast<std::size_t>((kTokens - 1) / kContext));
  for (std::size_t i = 0; i < starts.size(); ++i)
    ASSERT_EQ(starts[i], static_cast<std::int64_t>(i) * kContext);
}

}  // namespace
}  // namespace regard::data
