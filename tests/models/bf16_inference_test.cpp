// Inference in bf16: results close to f32, and the same bits for any threads and batch, with the cache, and
// on every code path. The key/value cache has half the size.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/bf16.h"
#include "kernels/bf16_fixture.h"
#include "kernels/bf16_pages.h"
#include "models/quantize.h"
#include "models/weights.h"
#include "nn/cache_decoder.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using kernels::Bf16Path;
using testing::CacheDecoder;
using testing::last_logits;
using testing::Runner;
using testing::Tokens;
using Logits = std::vector<std::vector<float>>;

const std::vector<std::size_t> kAll{0, 1, 2, 3, 4}, kMixed{3, 1, 4, 0, 2};

std::unique_ptr<Network> bf16_model(const std::string& name) {
  auto model = testing::tiny_model(name);
  compute_in_bf16(*model);
  return model;
}

class Bf16Inference : public testing::EachBf16Path {
 protected:
  static Runner runner(Network& model, int threads) {
    std::vector<Tokens> sources;
    if (model.kind() != ModelKind::decoder)
      sources = testing::random_tokens({3, 70, 1, 17, 32}, model.source_vocabulary(), 5);
    return {model, sources, testing::random_tokens({5, 1, 67, 16, 33}, model.vocabulary(), 6), threads};
  }
};

double relative_error(const Logits& a, const Logits& b) {
  double difference = 0, size = 0;
  for (std::size_t s = 0; s < a.size(); ++s)
    for (std::size_t i = 0; i < a[s].size(); ++i) {
      difference += std::pow(static_cast<double>(a[s][i]) - static_cast<double>(b[s][i]), 2);
      size += std::pow(static_cast<double>(b[s][i]), 2);
    }
  return std::sqrt(difference / size);
}

TEST_P(Bf16Inference, IsNearF32AndKeepsTheBitRule) {
  each_path([](Bf16Path) {
    for (const std::string& name : testing::tiny_model_names()) {
      const auto plain = testing::tiny_model(name), model = bf16_model(name);
      const Logits reference = runner(*model, 1).full(kAll);
      const double error = relative_error(reference, runner(*plain, 1).full(kAll));
      EXPECT_LT(error, 0.02) << name;
      EXPECT_GT(error, 1e-4) << name << ": nothing was rounded";
      for (const auto& [threads, step] : {std::pair{1, 1}, {2, 7}, {3, 1000}}) {
        Runner many = runner(*model, threads);
        const Logits mixed = many.full(kMixed), cached = many.cached(kMixed, step);
        for (std::size_t i = 0; i < kMixed.size(); ++i) {
          ASSERT_EQ(mixed[i], reference[kMixed[i]]) << name << ", " << threads << " threads";
          ASSERT_EQ(cached[i], reference[kMixed[i]]) << name << ", cache with steps of " << step;
          ASSERT_EQ(many.full({kMixed[i]})[0], mixed[i]) << name << ", alone";
        }
      }
    }
  });
}

// A model loaded from bf16 weights gives the same results as a model loaded from these weights converted to
// f32.
TEST_P(Bf16Inference, RoundsStoredWeightsOnce) {
  kernels::set_bf16_path(Bf16Path::emulated);
  for (const std::string& name : testing::tiny_model_names()) {
    const auto stored = testing::tiny_model(name);
    hold_as(*stored, DType::bf16);
    compute_in_bf16(*stored);
    EXPECT_EQ(runner(*stored, 1).full(kAll), runner(*bf16_model(name), 1).full(kAll)) << name;
  }
}

TEST_P(Bf16Inference, SharedPagesKeepTheBits) {
  each_path([](Bf16Path) {
    for (const std::string name : {"gpt", "llama"}) {
      const auto model = bf16_model(name);
      CacheDecoder decoder(*model, Cache::bounded(model->cache_shape(), 3, 12));
      const Tokens past = testing::random_tokens({41}, 29, 5)[0],
                   next = testing::random_tokens({6}, 29, 6)[0];
      decoder.step({0}, {past});
      decoder.cache.share_prefix(0, 1, 40);  // ends in the middle of a page
      decoder.cache.share_prefix(0, 2, 35);
      decoder.cache.clear(0);
      Tokens one(past.begin(), past.begin() + 40), two(past.begin(), past.begin() + 35);
      for (std::size_t i = 0; i < next.size(); ++i) {
        one.push_back(next[i]), two.push_back(next[5 - i]);
        const auto rows = decoder.step({1, 2}, {{one.back()}, {two.back()}});
        ASSERT_EQ(rows[0], last_logits(*model, {}, one)) << name << ", step " << i;
        ASSERT_EQ(rows[1], last_logits(*model, {}, two)) << name << ", step " << i;
      }
    }
  });
}

// A slot shares a page whose last rows contain NaN. make_room() throws, because no page is free; its next
// call must still replace these rows by zeros.
TEST_P(Bf16Inference, RowsOfTheOtherSequenceAreClearedAfterAFailure) {
  kernels::set_bf16_path(Bf16Path::emulated);
  const CacheShape shape{
      .layers = 1, .key_width = 8, .value_width = 8, .precision = kernels::Precision::bf16, .kv_heads = 1};
  Cache cache = Cache::bounded(shape, 3, 3);
  const std::vector<float> numbers(40 * 8, std::numeric_limits<float>::quiet_NaN());
  cache.make_room(0, 40);
  cache.append(0, 0, {numbers.data(), numbers.data(), 8, 8, 40});
  cache.advance(0, 40);
  cache.share_prefix(0, 1, 34);
  cache.make_room(2, 1);
  EXPECT_REGARD_ERROR(cache.make_room(1, 1), ErrorKind::resource_exhausted, "no free pages");
  cache.clear(0);
  cache.make_room(1, 1);
  std::vector<float> key(40 * 8), value(40 * 8);
  kernels::read_bf16_pages({1, 8, 8}, cache.keys(0, 1, 40).pages, 40, key.data(), value.data());
  for (std::size_t i = 34 * 8; i < value.size(); ++i) ASSERT_EQ(value[i], 0.0f) << i;
}

TEST_P(Bf16Inference, TheCacheHasHalfTheSize) {
  kernels::set_bf16_path(Bf16Path::emulated);
  TransformerConfig config = testing::tiny_config("llama");
  config.hidden_size = 128, config.heads = 2, config.kv_heads = 1;
  const auto plain = make_transformer(config), model = make_transformer(config);
  initialise(*model, 1);
  compute_in_bf16(*model);
  EXPECT_EQ(model->cache_shape().page_bytes() * 2, plain->cache_shape().page_bytes());
}

// Counts the attention weights that it receives, and checks that each row sums to 1.
class WeightProbe : public Probe {
 public:
  bool wants(std::string_view point) override { return point.ends_with(".weights"); }
  void see(std::string_view, std::int64_t, const Tensor& weights) override {
    ++seen;
    for (std::int64_t row = 0; row < weights.elements() / weights.columns(); ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < weights.columns(); ++i)
        sum += static_cast<double>(weights.f32()[row * weights.columns() + i]);
      EXPECT_NEAR(sum, 1.0, 1e-4);
    }
  }
  std::int64_t seen = 0;
};

TEST_P(Bf16Inference, ProbesSeeWeights) {
  each_path([](Bf16Path) {
    const auto model = bf16_model("llama");
    const Tokens ids = testing::random_tokens({40}, model->vocabulary(), 3)[0];
    RaggedBuffer shape;
    shape.add(40, 0);
    ThreadPool pool(2);
    Arena arena;
    Tape tape(pool, arena);
    WeightProbe probe;
    Cache cache(model->cache_shape(), 1, 64);
    Logits results;
    for (const bool cached : {false, true})
      for (Probe* one : {static_cast<Probe*>(nullptr), static_cast<Probe*>(&probe)}) {
        tape.begin({});
        tape.probe = one;
        cache.clear();
        const Tensor logits =
            model->logits(tape, model->decode(tape, {ids, shape.view()}, nullptr, cached ? &cache : nullptr))
                ->value;
        results.emplace_back(logits.f32(), logits.f32() + logits.elements());
        ASSERT_EQ(results.back(), results.front());
      }
    EXPECT_EQ(probe.seen, 4) << "two layers, with and without the cache";
  });
}

TEST_P(Bf16Inference, RefusesInt8AndGradients) {
  kernels::set_bf16_path(Bf16Path::emulated);
  const auto int8 = testing::tiny_model("gpt");
  quantize(*int8);
  EXPECT_REGARD_ERROR(compute_in_bf16(*int8), ErrorKind::usage, "int8 weights cannot compute in bf16");
  const auto model = bf16_model("gpt");
  Runner one = runner(*model, 1);
  EXPECT_REGARD_ERROR(one.loss(1, true), ErrorKind::usage, "loaded for inference");
}

TEST_P(Bf16Inference, IsRefusedWithoutTheInstructions) {
  if (kernels::default_bf16_path()) GTEST_SKIP() << "this processor has them";
  const auto model = testing::tiny_model("gpt");
  EXPECT_REGARD_ERROR(
      compute_in_bf16(*model), ErrorKind::usage,
      kernels::bf16_paths().empty() ? "needs a processor with bf16 instructions" : "slower than f32");
}

REGARD_EACH_ISA(Bf16Inference);

}  // namespace
}  // namespace regard::testing
