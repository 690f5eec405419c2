// The cache of words and their ids: it never returns wrong ids, and it evicts few words before it is full.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "support/resident.h"
#include "text/word_cache.h"

namespace regard::text {
namespace {

std::string word_of(std::size_t i, std::size_t size) {
  std::string word = std::to_string(i * 7919);
  word.resize(size, static_cast<char>('a' + i % 26));
  return word;
}

std::vector<std::int32_t> ids_of(std::size_t i) {
  std::vector<std::int32_t> ids(i % 9);
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<std::int32_t>(i * 10 + k);
  return ids;
}

// Return how many of the words 0 to `count` − 1 are found. Expect the correct ids for each.
std::size_t found(const WordCache& cache, std::size_t count, std::size_t size) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    IdBuffer ids;
    if (!cache.find(word_of(i, size), ids)) continue;
    ++hits;
    EXPECT_EQ(std::vector<std::int32_t>(ids.ids().begin(), ids.ids().end()), ids_of(i)) << word_of(i, size);
  }
  return hits;
}

void keep(WordCache& cache, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) cache.keep(word_of(i, size), ids_of(i));
}

TEST(WordCache, KeepsNearlyAllShortWordsUpToAThirdOfItsPlaces) {
  constexpr std::size_t kSets = std::size_t{1} << 15, kWords = kSets * 2 / 3;
  WordCache cache(kSets);
  keep(cache, kWords, 12);
  EXPECT_GT(found(cache, kWords, 12), kWords * 999 / 1000);
}

TEST(WordCache, ForgetsButIsNeverWrongWhenThereAreFarTooMany) {
  constexpr std::size_t kSets = std::size_t{1} << 13, kWords = 20 * kSets;
  WordCache cache(kSets);
  keep(cache, kWords, 11);
  const std::size_t hits = found(cache, kWords, 11);
  EXPECT_GE(hits, kSets);
  EXPECT_LE(hits, 2 * kSets);
}

TEST(WordCache, KeepsLongWordsAndBeginsAnewWhenItsStoreIsFull) {
  WordCache cache;
  keep(cache, 20'000, 100);
  EXPECT_GT(found(cache, 20'000, 100), 19'000u);
  keep(cache, 300'000, 150);  // more bytes than the cache's capacity
  EXPECT_GT(found(cache, 300'000, 150), 10'000u);
}

// A server has one cache for each thread that encodes, and many of them contain few words.
TEST(WordCache, UsesLittleMemoryForFewWords) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer uses memory in proportion to the allocated size";
#endif
  constexpr std::size_t kCaches = 40;
  std::deque<WordCache> caches;
  const double before = testing::resident_mib();
  for (std::size_t i = 0; i < kCaches; ++i) {
    keep(caches.emplace_back(), 50, 100);
    keep(caches.back(), 50, 12);
  }
  EXPECT_LT(testing::resident_mib() - before, 1.0 * kCaches);
}

TEST(WordCache, AWordOfOneSizeIsNotThatOfAnother) {
  WordCache cache;
  const std::string zeros(15, '\0');
  const std::vector<std::int32_t> one = {1};
  cache.keep(std::string_view(zeros).substr(0, 3), one);
  IdBuffer ids;
  EXPECT_TRUE(cache.find(std::string_view(zeros).substr(0, 3), ids));
  EXPECT_FALSE(cache.find(std::string_view(zeros).substr(0, 4), ids));
  EXPECT_FALSE(cache.find(zeros, ids));
}

}  // namespace
}  // namespace regard::text
