// Details of BPE training that goldens do not reach: words that list a pair on both sides, progress, limits,
// and the tables of pairs.
#include "text/bpe_trainer.h"

#include <gtest/gtest.h>

#include <map>

#include "text/bpe.h"
#include "text/pair_counts.h"

namespace regard::text {
namespace {

using Ids = std::vector<std::int32_t>;

// "ab" is a symbol and also the result of the merge (a, b), so the merge creates the pair (ab, ab) before and
// after an existing "ab". The words of both kinds must take part in the next merge.
TEST(BpeTrainer, APairWithNewOccurrencesOnBothSides) {
  BpeTrainer trainer;
  const std::int32_t both = trainer.add_token("ab", false), a = trainer.add_token("a", false),
                     b = trainer.add_token("b", false), c = trainer.add_token("c", false);
  EXPECT_EQ(both, 0);
  EXPECT_EQ(trainer.add_token("ab", true), both) << "an existing token keeps its id";
  trainer.add_word(Ids{both, a, b, c}, 5);        // the merged token follows an "ab"
  trainer.add_word(Ids{a, b, both, c}, 4);        // the merged token precedes an "ab"
  trainer.add_word(Ids{both, a, b, both, c}, 3);  // both
  trainer.add_word(Ids{c}, 100);                  // no pair
  BpeTrainer::Limits limits;
  limits.vocabulary_size = 7;
  std::vector<std::vector<std::int64_t>> merges;
  for (const BpeMerge& merge : trainer.learn(limits))
    merges.push_back({merge.left, merge.right, merge.id, merge.count});
  // (4, c) occurs in the first two words. The third word is left with the pairs (4, ab) and (ab, c).
  EXPECT_EQ(trainer.tokens(), (std::vector<std::string>{"ab", "a", "b", "c", "abab", "ababc", "abc"}));
  EXPECT_EQ(merges, (std::vector<std::vector<std::int64_t>>{
                        {a, b, both, 12}, {both, both, 4, 15}, {4, c, 5, 9}, {both, c, 6, 3}}));
}

TEST(BpeTrainer, StopsAtTheLimits) {
  const auto tokens = [](std::size_t size, std::int64_t frequency, bool opaque = false) {
    BpeTrainer trainer;
    trainer.add_token("a", false), trainer.add_token("b", false), trainer.add_token("aa", opaque);
    trainer.add_word(Ids{0, 0, 0, 0, 1}, 2);
    BpeTrainer::Limits limits;
    limits.vocabulary_size = size;
    limits.min_frequency = frequency;
    trainer.learn(limits);
    return trainer.tokens();
  };
  using Tokens = std::vector<std::string>;
  EXPECT_EQ(tokens(100, 2), (Tokens{"a", "b", "aa", "aab", "aaaab"}));
  EXPECT_EQ(tokens(4, 2), (Tokens{"a", "b", "aa", "aab"}));
  EXPECT_EQ(tokens(3, 2), (Tokens{"a", "b", "aa"}));
  EXPECT_EQ(tokens(100, 3), (Tokens{"a", "b", "aa"})) << "(a, a) occurs 6 times, (aa, b) twice";
  EXPECT_EQ(tokens(100, 2, true), (Tokens{"a", "b", "aa", "ab", "aab", "aaab", "aaaab"}))
      << "no merge results in an opaque token";
}

TEST(BpeTrainer, ReportsProgressEvery64Merges) {
  BpeTrainer trainer;
  Ids word;
  for (int i = 0; i < 200; ++i) {
    word.push_back(trainer.add_token("<" + std::to_string(i) + ">", false));
  }
  trainer.add_word(word, 2);
  std::vector<std::size_t> steps;
  const auto merges = trainer.learn({}, [&](std::size_t tokens) { steps.push_back(tokens); });
  EXPECT_EQ(merges.size(), 199u);
  EXPECT_EQ(steps, (std::vector<std::size_t>{264, 328, 392}));
}

TEST(PairCounts, EqualThoseOfAMap) {
  PairCounts counts;
  EXPECT_EQ(counts.of(0, 0), 0);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> expected;
  for (std::int32_t i = 0; i < 20000; ++i) {
    const std::pair pair(i * 7919 % 3001, i % 5);
    const std::int64_t change = i % 3 == 2 ? -expected[pair] : i;
    expected[pair] += change;
    ASSERT_EQ(counts.add(pair.first, pair.second, change), expected[pair]);
  }
  for (const auto& [pair, count] : expected) ASSERT_EQ(counts.of(pair.first, pair.second), count);
  EXPECT_EQ(counts.of(3001, 0), 0);
  EXPECT_LE(counts.size(), expected.size());
}

// Pairs whose count is zero are dropped before the table grows.
TEST(PairCounts, DropPairsWithoutOccurrences) {
  PairCounts counts;
  for (std::int32_t i = 0; i < 767; ++i) counts.add(i, 0, 1);
  for (std::int32_t i = 0; i < 700; ++i) counts.add(i, 0, -1);
  counts.add(767, 0, 1);
  EXPECT_EQ(counts.size(), 768u);
  counts.add(768, 0, 1);
  EXPECT_EQ(counts.size(), 69u);
  for (std::int32_t i = 0; i < 769; ++i) EXPECT_EQ(counts.of(i, 0), i < 700 ? 0 : 1) << i;
}

TEST(MergeTable, GrowsAndKeepsItsMerges) {
  for (const bool reserved : {false, true}) {
    MergeTable table;
    if (reserved) table.reserve(1000);
    for (std::int32_t i = 0; i < 1000; ++i) table.add(i, i + 1, {i, i + 2});
    table.add(5, 6, {-7, 8});  // replaces the merge
    for (std::int32_t i = 0; i < 1000; ++i) {
      const Merge merge = table.find(i, i + 1);
      EXPECT_EQ(merge.rank, i == 5 ? -7 : i);
      EXPECT_EQ(merge.id, i == 5 ? 8 : i + 2);
      EXPECT_LT(table.find(i + 1, i).rank, 0);
    }
  }
}

}  // namespace
}  // namespace regard::text
