// Pages of the key/value cache: sequences with a shared prefix, windows that free pages, and a cache without
// free pages.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "cache_decoder.h"
#include "nn/page_pool.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

using testing::CacheDecoder;
using testing::last_logits;
using testing::Tokens;

Tokens tokens_of(std::int64_t count, std::uint64_t seed) {
  return testing::random_tokens({count}, 29, seed)[0];
}

// Fill all free pages with NaN: their contents must not affect results.
void poison(Cache& cache, const CacheShape& shape) {
  const Tokens nothing;
  std::vector<float> numbers(static_cast<std::size_t>(shape.key_width), std::nanf(""));
  const std::int64_t all = cache.free_pages() * kPageTokens;
  cache.make_room(0, all);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    cache.append(layer, 0, {numbers.data(), numbers.data(), 0, 0, all});
  cache.advance(0, all);
  cache.clear(0);
}

TEST(CachePages, APrefixIsSharedUntilItParts) {
  for (const std::string name : {"gpt", "llama"}) {
    const std::unique_ptr<Network> model = testing::tiny_model(name);
    const CacheShape shape = model->cache_shape();
    CacheDecoder decoder(*model, Cache::bounded(shape, 3, 12));
    Cache& cache = decoder.cache;
    poison(cache, shape);
    const Tokens past = tokens_of(41, 5), first = tokens_of(6, 6), second = tokens_of(6, 7);
    decoder.step({0}, {past});
    EXPECT_EQ(cache.free_pages(), 10);
    cache.share_prefix(0, 1, 40);  // ends in the middle of a page
    cache.share_prefix(0, 2, 32);  // ends at a page boundary
    EXPECT_EQ(cache.free_pages(), 10) << "sharing copies nothing";
    EXPECT_TRUE(cache.writes_to_shared_page(0));
    EXPECT_TRUE(cache.writes_to_shared_page(1));
    EXPECT_FALSE(cache.writes_to_shared_page(2));
    Tokens one = past, two(past.begin(), past.begin() + 40), three(past.begin(), past.begin() + 32);
    for (std::size_t i = 0; i < first.size(); ++i) {
      one.push_back(first[i]), two.push_back(second[i]), three.push_back(second[5 - i]);
      const auto rows = decoder.step({0, 1, 2}, {{one.back()}, {two.back()}, {three.back()}});
      ASSERT_EQ(rows[0], last_logits(*model, {}, one)) << name << ", step " << i;
      ASSERT_EQ(rows[1], last_logits(*model, {}, two)) << name << ", step " << i;
      ASSERT_EQ(rows[2], last_logits(*model, {}, three)) << name << ", step " << i;
    }
    EXPECT_EQ(cache.free_pages(), 12 - 4) << "the first page is one, the second pages are three";
    cache.clear(0);
    const auto rows = decoder.step({1}, {{3}});
    two.push_back(3);
    EXPECT_EQ(rows[0], last_logits(*model, {}, two)) << "the first owner has left";
    cache.clear();
    EXPECT_EQ(cache.free_pages(), 12) << "nothing is lost";
  }
}

TEST(CachePages, AnEncodersOutputIsSharedWithThePast) {
  const std::unique_ptr<Network> model = testing::tiny_model("translator");
  CacheDecoder decoder(*model, Cache::bounded(model->cache_shape(), 2, 6));
  const Tokens source = tokens_of(37, 1);
  decoder.encode(source);
  decoder.step({0}, {{7, 8, 9}});
  EXPECT_EQ(decoder.cache.held_pages(0), 1);
  EXPECT_EQ(decoder.cache.free_pages(), 6 - 1 - 2);
  decoder.cache.share_prefix(0, 1, 2);
  EXPECT_EQ(decoder.cache.free_pages(), 3);
  const auto rows = decoder.step({1, 0}, {{11}, {12}});
  EXPECT_EQ(rows[0], last_logits(*model, source, {7, 8, 11}));
  EXPECT_EQ(rows[1], last_logits(*model, source, {7, 8, 9, 12}));
}

// Return a model with a sliding window of 40 tokens in every layer.
std::unique_ptr<Network> windowed_model() {
  Json config = parse_json(read_file(testing::golden("hf-tiny/mistral/config.json")), "config");
  config["sliding_window"] = 40, config["max_position_embeddings"] = 512;
  std::unique_ptr<Network> model = make_model(config);
  initialise(*model, 1);
  return model;
}

TEST(CachePages, AWindowGivesPagesBack) {
  const std::unique_ptr<Network> model = windowed_model();
  const CacheShape shape = model->cache_shape();
  ASSERT_EQ(shape.window, 40);
  CacheDecoder decoder(*model, Cache::bounded(shape, 2, 5));
  poison(decoder.cache, shape);
  Tokens all = tokens_of(50, 3);
  decoder.step({0}, {all});
  for (const std::int32_t token : tokens_of(80, 4)) {  // without a window, 130 tokens need five pages
    all.push_back(token);
    ASSERT_EQ(decoder.step({0}, {{token}})[0], last_logits(*model, {}, all)) << all.size() << " tokens";
    ASSERT_LE(decoder.cache.held_pages(0), 3);
  }
  EXPECT_EQ(decoder.cache.length(0), 130);
  EXPECT_THROW(decoder.cache.share_prefix(0, 1, 20), Error) << "these are gone";
  decoder.cache.clear(0);
  EXPECT_EQ(decoder.cache.free_pages(), 5);
}

TEST(CachePages, AnExhaustedPoolRefusesAndGoesOn) {
  const std::unique_ptr<Network> model = testing::tiny_model("llama");
  CacheDecoder decoder(*model, Cache::bounded(model->cache_shape(), 2, 3));
  const Tokens past = tokens_of(60, 5);
  decoder.step({0}, {past});
  try {
    decoder.step({1}, {past});
    ADD_FAILURE() << "two pages were found where one was free";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("1 of 3 pages free"), std::string::npos) << error.what();
  }
  EXPECT_EQ(decoder.cache.free_pages(), 1) << "nothing was taken";
  Tokens more = past;
  more.push_back(4);
  EXPECT_EQ(decoder.step({0}, {{4}})[0], last_logits(*model, {}, more)) << "the other is as it was";
  EXPECT_THROW(decoder.cache.reserve(97), Error);
  EXPECT_THROW(decoder.cache.share_prefix(0, 0, 5), Error);
  EXPECT_THROW(decoder.cache.share_prefix(0, 1, 62), Error);
  EXPECT_THROW(decoder.cache.share_prefix(1, 0, 0), Error) << "not empty";
  EXPECT_THROW(Cache::bounded(model->cache_shape(), 2, 0), Error);
}

// A pass that fails after make_room() leaves a slot with pages but without tokens.
TEST(CachePages, SharingReleasesReservedPages) {
  const std::unique_ptr<Network> model = testing::tiny_model("llama");
  CacheDecoder decoder(*model, Cache::bounded(model->cache_shape(), 2, 4));
  decoder.step({0}, {tokens_of(40, 5)});
  decoder.cache.make_room(1, 40);
  EXPECT_EQ(decoder.cache.free_pages(), 0);
  decoder.cache.share_prefix(0, 1, 40);
  EXPECT_EQ(decoder.cache.free_pages(), 2);
  decoder.cache.clear();
  EXPECT_EQ(decoder.cache.free_pages(), 4);
}

TEST(CachePages, TheirMemoryIsKnownBefore) {
  const std::unique_ptr<Network> model = testing::tiny_model("llama");
  const CacheShape shape = model->cache_shape();
  EXPECT_EQ(shape.page_bytes(), shape.layers * 32 * (shape.key_width + shape.value_width) * 4);
  EXPECT_EQ(Cache::bounded(shape, 2, 7).bytes(), 7 * shape.page_bytes());
  EXPECT_EQ(pages_for(0), 0);
  EXPECT_EQ(pages_for(32), 1);
  EXPECT_EQ(pages_for(33), 2);
}

// Return the bytes of address space that the process uses.
std::size_t used_address_space() {
  const std::string pages = read_file("/proc/self/statm");
  return static_cast<std::size_t>(std::stoll(pages)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// If a pool cannot grow as requested, the segments that it has added are usable.
TEST(PagePool, PagesOfAFailedGrowthAreFree) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve address space";
#endif
  nn::PagePool pool(std::int64_t{1} << 20);  // pages of 4 MiB in segments of 64 MiB
  pool.grow(1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit few = before;
  few.rlim_cur = used_address_space() + (std::size_t{200} << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &few), 0);
  EXPECT_THROW(pool.grow(200), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(pool.size(), 1);
  EXPECT_EQ(pool.free(), pool.size());
  pool.grow(100);
  EXPECT_EQ(pool.size(), 100);
  EXPECT_EQ(pool.free(), 100);
  for (std::int32_t page = 0; page < 100; ++page) {
    EXPECT_EQ(pool.take(), page);
    EXPECT_EQ(pool.users(page), 1);
  }
}

}  // namespace
}  // namespace regard::testing
