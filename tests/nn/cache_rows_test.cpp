// Rows that are written to the key/value cache directly, without a model: their places in the pages, and the
// messages of wrong calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nn/cache.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kLayers = 3, kHeads = 2, kKeyWidth = 6, kValueWidth = 4;

CacheShape rows_shape(bool cross = false) {
  CacheShape shape;
  shape.layers = kLayers, shape.key_width = kKeyWidth, shape.value_width = kValueWidth, shape.cross = cross;
  shape.kv_heads = kHeads;
  return shape;
}

// The number in one column of a key (or value) of a token, different for each layer, token and column.
float element(std::int64_t layer, std::int64_t token, std::int64_t column, bool value) {
  return static_cast<float>(layer * 100'000 + token * 20 + column + (value ? 10 : 0));
}

// Keys and values of `count` tokens from `first`, with unused columns between the rows.
class SomeRows {
 public:
  SomeRows(std::int64_t layer, std::int64_t first, std::int64_t count) : count_(count) {
    keys_.assign(static_cast<std::size_t>(count * kKeyStride), -1.0f);
    values_.assign(static_cast<std::size_t>(count * kValueStride), -1.0f);
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t c = 0; c < kKeyWidth; ++c)
        keys_[static_cast<std::size_t>(t * kKeyStride + c)] = element(layer, first + t, c, false);
      for (std::int64_t c = 0; c < kValueWidth; ++c)
        values_[static_cast<std::size_t>(t * kValueStride + c)] = element(layer, first + t, c, true);
    }
  }
  Cache::Rows rows() const { return {keys_.data(), values_.data(), kKeyStride, kValueStride, count_}; }

 private:
  static constexpr std::int64_t kKeyStride = 8, kValueStride = 7;
  std::int64_t count_;
  std::vector<float> keys_, values_;
};

// Append tokens whose numbers are those of the tokens from `first`.
void append_tokens(Cache& cache, std::int64_t slot, std::int64_t first, std::int64_t count) {
  cache.make_room(slot, count);
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    cache.append(layer, slot, SomeRows(layer, first, count).rows());
  cache.advance(slot, count);
}

// The number in one column of a row, which the page stores as [heads, rows, width / heads].
float stored(const float* page, std::int64_t offset, std::int64_t width, std::int64_t row,
             std::int64_t column) {
  const std::int64_t own = width / kHeads;
  return page[offset + (column / own * kPageTokens + row % kPageTokens) * own + column % own];
}

// Expect the rows of tokens[0], tokens[1] and so on.
void expect_rows(const ops::CachedKeys& found, std::int64_t layer, const std::vector<std::int64_t>& tokens) {
  ASSERT_EQ(found.keys, std::ssize(tokens));
  const kernels::AttentionPages& pages = found.pages;
  for (std::int64_t row = 0; row < found.keys; ++row) {
    const float* const page = pages.at[row / pages.rows];
    for (std::int64_t c = 0; c < kKeyWidth; ++c)
      ASSERT_EQ(stored(page, pages.key, kKeyWidth, row, c),
                element(layer, tokens[static_cast<std::size_t>(row)], c, false))
          << "key of layer " << layer << ", row " << row << ", column " << c;
    for (std::int64_t c = 0; c < kValueWidth; ++c)
      ASSERT_EQ(stored(page, pages.value, kValueWidth, row, c),
                element(layer, tokens[static_cast<std::size_t>(row)], c, true))
          << "value of layer " << layer << ", row " << row << ", column " << c;
  }
}

void expect_tokens(const Cache& cache, std::int64_t slot, const std::vector<std::int64_t>& tokens) {
  EXPECT_EQ(cache.length(slot), std::ssize(tokens));
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    expect_rows(cache.keys(layer, slot, cache.length(slot)), layer, tokens);
}

std::vector<std::int64_t> numbered(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}

TEST(CacheRows, ANewCacheHasAllItsPages) {
  const Cache cache(rows_shape(), 3, 40);
  EXPECT_EQ(std::vector<std::int32_t>(cache.slots().begin(), cache.slots().end()),
            (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(cache.slot_count(), 3);
  EXPECT_EQ(cache.capacity(), 64);
  EXPECT_EQ(cache.pages(), 6);
  EXPECT_EQ(cache.free_pages(), 6);
  EXPECT_EQ(cache.bytes(), 6 * kLayers * 32 * (kKeyWidth + kValueWidth) * 4);
  EXPECT_EQ(Cache(rows_shape(), 2, 0).pages(), 2) << "at least one token for each slot";
}

TEST(CacheRows, PiecesOfAnyLengthAreContiguous) {
  for (const std::vector<std::int64_t>& pieces : std::vector<std::vector<std::int64_t>>{
           {100}, {20, 50, 30}, {32, 32, 36}, {31, 2, 63, 4}, {1, 98, 1}, {10, 22, 68}}) {
    Cache cache(rows_shape(), 2, 100);
    std::int64_t length = 0;
    for (const std::int64_t count : pieces) {
      append_tokens(cache, 1, length, count);
      append_tokens(cache, 0, 1000 + length, count);
      length += count;
    }
    expect_tokens(cache, 1, numbered(0, 100));
    expect_tokens(cache, 0, numbered(1000, 1100));
    EXPECT_EQ(cache.held_pages(1), 4);
  }
}

TEST(CacheRows, ACopiedPageHasEveryLayersRows) {
  Cache cache(rows_shape(), 3, 64);
  append_tokens(cache, 0, 0, 40);
  const std::vector<std::int32_t> fork{0, 0, -1};
  cache.reorder(fork);
  append_tokens(cache, 1, 500, 5);
  append_tokens(cache, 0, 40, 3);
  expect_tokens(cache, 0, numbered(0, 43));
  std::vector<std::int64_t> other = numbered(0, 40);
  for (const std::int64_t token : numbered(500, 505)) other.push_back(token);
  expect_tokens(cache, 1, other);
  EXPECT_EQ(cache.free_pages(), 6 - 3);
  cache.share_prefix(1, 2, 42);
  append_tokens(cache, 2, 700, 1);
  expect_tokens(cache, 1, other);
  other.resize(42);
  other.push_back(700);
  expect_tokens(cache, 2, other);
}

TEST(CacheRows, CrossAttentionHasItsOwnRows) {
  Cache cache(rows_shape(true), 2, 32);
  EXPECT_FALSE(cache.has_cross(0));
  EXPECT_EQ(cache.cross_length(0), 0);
  cache.make_room(0, 2);
  cache.start_cross(0, 45);
  EXPECT_TRUE(cache.cross_is_new(0));
  EXPECT_FALSE(cache.has_cross(0));
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    cache.append(layer, 0, SomeRows(layer, 0, 2).rows());
    cache.set_cross(layer, 0, SomeRows(layer, 300, 45).rows());
  }
  cache.advance(0, 2);
  EXPECT_TRUE(cache.has_cross(0));
  EXPECT_FALSE(cache.cross_is_new(0));
  EXPECT_EQ(cache.cross_length(0), 45);
  const std::vector<std::int32_t> swapped{-1, 0};
  cache.reorder(swapped);
  EXPECT_FALSE(cache.has_cross(0));
  EXPECT_TRUE(cache.has_cross(1));
  expect_tokens(cache, 1, numbered(0, 2));
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    expect_rows(cache.cross_keys(layer, 1), layer, numbered(300, 345));
  EXPECT_EQ(cache.free_pages(), cache.pages() - 3);
  cache.start_cross(1, 32);
  EXPECT_EQ(cache.cross_length(1), 32);
  EXPECT_EQ(cache.free_pages(), cache.pages() - 2) << "the previous source is released";
  cache.clear();
  EXPECT_EQ(cache.free_pages(), cache.pages());
}

TEST(CacheRows, MessagesNameWhatIsWrong) {
  Cache cache(rows_shape(), 2, 32);
  const std::vector<std::int32_t> three{0, 1, -1}, twice{1, 0, 1};
  EXPECT_REGARD_ERROR(cache.reorder(three), ErrorKind::usage,
                      "the new order has more entries than the cache has slots (expected at most 2 entries, "
                      "found 3 entries)");
  EXPECT_REGARD_ERROR(cache.select(twice), ErrorKind::usage, "cache: slot 1 is selected twice");
  EXPECT_REGARD_ERROR(cache.length(2), ErrorKind::usage, "the cache has no slot 2 (expected slots 0 to 1)");
  EXPECT_REGARD_ERROR(cache.start_cross(0, 1), ErrorKind::usage,
                      "the cache was created without cross-attention");
  EXPECT_NO_THROW(cache.make_room(0, 32));
  EXPECT_REGARD_ERROR(cache.make_room(0, 33), ErrorKind::resource_exhausted,
                      "cache: slot 0 has no room for 33 more tokens (found 0 of 32 positions in use)");
  append_tokens(cache, 0, 0, 30);
  EXPECT_NO_THROW(cache.make_room(0, 2));
  EXPECT_REGARD_ERROR(cache.make_room(0, 3), ErrorKind::resource_exhausted,
                      "found 30 of 32 positions in use");
  EXPECT_REGARD_ERROR(cache.share_prefix(0, 1, 31), ErrorKind::usage,
                      "slot 0 does not have the first 31 tokens (expected at least 31 tokens, none of them "
                      "released, found 30 tokens, of which 0 are released)");
  EXPECT_REGARD_ERROR(cache.share_prefix(1, 0, 0), ErrorKind::usage, "cache: slot 0 is not empty");
  EXPECT_REGARD_ERROR(Cache(rows_shape(), 0, 5), ErrorKind::usage,
                      "a cache has too few slots (expected at least 1 slot, found 0)");
  CacheShape uneven = rows_shape();
  for (const std::int64_t heads : {0, 4}) {
    uneven.kv_heads = heads;
    EXPECT_REGARD_ERROR(
        Cache(uneven, 1, 1), ErrorKind::usage,
        "the number of key/value heads of a cache does not divide the width of its rows (found " +
            std::to_string(heads) + " heads)");
  }
  EXPECT_REGARD_ERROR(Cache::bounded(rows_shape(), 1, 0), ErrorKind::usage,
                      "a cache has too few pages (expected at least 1 page, found 0)");
  Cache bounded = Cache::bounded(rows_shape(), 2, 2);
  EXPECT_EQ(bounded.capacity(), 64);
  EXPECT_NO_THROW(bounded.reserve(64));
  EXPECT_REGARD_ERROR(bounded.reserve(65), ErrorKind::resource_exhausted,
                      "exceeds the capacity of a slot (expected at most 64 tokens, found 65 tokens)");
  append_tokens(bounded, 0, 0, 33);
  EXPECT_REGARD_ERROR(
      bounded.make_room(1, 33), ErrorKind::resource_exhausted,
      "the cache has too few free pages (expected at least 2 free pages, found 0 of 2 pages free)");
  bounded.share_prefix(0, 1, 33);
  EXPECT_REGARD_ERROR(bounded.make_room(1, 1), ErrorKind::resource_exhausted, "the cache has no free pages");
  bounded.clear(0);
  EXPECT_NO_THROW(bounded.make_room(1, 1)) << "the page is not shared any more";
}

}  // namespace
}  // namespace regard::testing
