// Bookkeeping of the key/value cache: after a search reorders slots, every hypothesis has its own prefix.
#include <gtest/gtest.h>

#include "cache_decoder.h"
#include "regard/error.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using testing::CacheDecoder;
using testing::last_logits;
using testing::Tokens;

TEST(Cache, ForkedHypothesesKeepTheirOwnPast) {
  for (const std::string& name : testing::tiny_model_names()) {
    const std::unique_ptr<Network> model = testing::tiny_model(name);
    CacheDecoder decoder(*model, Cache(model->cache_shape(), 4, 40));
    const Tokens source{3, 1, 4, 1, 5};
    if (model->kind() == ModelKind::encoder_decoder) decoder.encode(source);
    decoder.step({0}, {{7}});
    const std::vector<std::int32_t> fork{0, 0, 0};
    decoder.cache.reorder(fork);
    EXPECT_EQ(decoder.cache.length(2), 1);
    EXPECT_EQ(decoder.cache.length(3), 0);
    decoder.step({0, 1, 2}, {{8}, {9}, {10}});
    const std::vector<std::int32_t> swap{2, 0, 2, 1};
    decoder.cache.reorder(swap);
    const auto rows = decoder.step({0, 1, 2, 3}, {{11}, {12}, {13}, {14}});
    EXPECT_EQ(rows[0], last_logits(*model, source, {7, 10, 11})) << name;
    EXPECT_EQ(rows[1], last_logits(*model, source, {7, 8, 12})) << name;
    EXPECT_EQ(rows[2], last_logits(*model, source, {7, 10, 13})) << name;
    EXPECT_EQ(rows[3], last_logits(*model, source, {7, 9, 14})) << name;
    // After the cache has grown, a cleared slot starts again from empty while another slot continues.
    decoder.cache.clear(1);
    decoder.cache.reserve(300);
    const auto mixed = decoder.step({3, 1}, {{15}, {16}});
    EXPECT_EQ(mixed[0], last_logits(*model, source, {7, 9, 14, 15})) << name;
    EXPECT_EQ(mixed[1], last_logits(*model, source, {16})) << name;
  }
}

TEST(Cache, WrongUseIsRefused) {
  const std::unique_ptr<Network> model = testing::tiny_model("llama");
  CacheDecoder decoder(*model, Cache(model->cache_shape(), 4, 40));
  Cache& cache = decoder.cache;
  const std::vector<std::int32_t> twice{1, 1}, outside{4};
  EXPECT_THROW(cache.select(twice), Error);
  EXPECT_THROW(cache.select(outside), Error);
  EXPECT_THROW(cache.reorder(outside), Error);
  EXPECT_THROW(cache.length(-1), Error);
  EXPECT_THROW(Cache(model->cache_shape(), 0, 5), Error);
  for (std::int64_t i = 0; i < cache.capacity(); ++i) decoder.step({0}, {{1}});
  try {
    decoder.step({0}, {{1}});
    ADD_FAILURE() << "a full slot took a token";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("slot 0 has no room"), std::string::npos) << error.what();
  }
  const std::unique_ptr<Network> translator = testing::tiny_model("translator");
  CacheDecoder without(*translator, Cache(translator->cache_shape(), 4, 40));
  EXPECT_THROW(without.step({0}, {{1}}), Error) << "no memory was given";
}

}  // namespace
}  // namespace regard::testing
