// Whole models give bit-identical results regardless of the number of threads, of what else is in the batch,
// and with or without the key/value cache and packed weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/isa_fixture.h"
#include "kernels/rows.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using testing::Runner;
using testing::Tokens;
using Logits = std::vector<std::vector<float>>;

constexpr int kThreads[] = {1, 2, 3, 8};

class BitRule : public testing::EachIsa {
 protected:
  // Lengths below and above the block sizes of the attention kernels.
  const std::vector<std::int64_t> lengths_{5, 1, 130, 16, 33, 64, 9};
  std::vector<Tokens> sources(Network& model) const {
    if (model.kind() == ModelKind::decoder) return {};
    return testing::random_tokens({3, 70, 1, 129, 17, 64, 30}, model.source_vocabulary(), 21);
  }
  std::vector<Tokens> targets(Network& model) const {
    return testing::random_tokens(lengths_, model.vocabulary(), 22);
  }
};

TEST_P(BitRule, ThreadsCompanyAndCacheLeaveEveryBit) {
  const std::vector<std::size_t> together{0, 1, 2, 3, 4, 5, 6}, shuffled{4, 2, 6, 0, 5, 1, 3};
  for (const std::string& name : testing::tiny_model_names()) {
    const std::unique_ptr<Network> model = testing::tiny_model(name);
    Runner alone(*model, sources(*model), targets(*model), 1);
    Logits reference;
    for (const std::size_t i : together) reference.push_back(alone.full({i})[0]);
    for (const int threads : kThreads)
      for (const bool packed : {false, true}) {
        Runner runner(*model, sources(*model), targets(*model), threads);
        if (packed) model->prepare_for_inference(runner.pool());
        for (const auto& order : {together, shuffled, {1}, {2}}) {
          const std::string where = name + ", " + std::to_string(threads) + " threads, " +
                                    std::to_string(order.size()) + " sequences" + (packed ? ", packed" : "");
          const Logits full = runner.full(order);
          for (std::size_t i = 0; i < order.size(); ++i)
            ASSERT_EQ(full[i], reference[order[i]]) << where << ", sequence " << order[i];
          for (const std::int64_t step : {1, 7, 1000}) {
            if (step == 1 && threads == 3) continue;
            const Logits cached = runner.cached(order, step);
            for (std::size_t i = 0; i < order.size(); ++i)
              ASSERT_EQ(cached[i], reference[order[i]])
                  << where << ", cache with steps of " << step << ", sequence " << order[i];
          }
        }
      }
  }
}

// The draws of dropout depend on the sequence, not on its place in the batch.
TEST_P(BitRule, DropoutFollowsTheSequence) {
  for (const std::string& name : testing::tiny_model_names()) {
    const std::unique_ptr<Network> model = testing::tiny_model(name);
    Runner runner(*model, sources(*model), targets(*model), 2);
    const std::vector<std::size_t> shuffled{4, 2, 6, 0, 5, 1, 3};
    const Logits batch = runner.full(shuffled, true);
    for (std::size_t i = 0; i < shuffled.size(); ++i)
      ASSERT_EQ(batch[i], runner.full({shuffled[i]}, true)[0]) << name << ", sequence " << shuffled[i];
    ASSERT_NE(batch, runner.full(shuffled, false)) << name << ": dropout did nothing";
  }
}

TEST_P(BitRule, FiftyTrainingStepsGiveTheSameWeights) {
  for (const std::string& name : testing::tiny_model_names()) {
    Logits reference;
    for (const int threads : kThreads) {
      const std::unique_ptr<Network> model = testing::tiny_model(name);
      model->set_trainable(true);
      std::vector<std::vector<float>> moments;
      for (const Parameter* parameter : model->parameters())
        moments.emplace_back(static_cast<std::size_t>(2 * parameter->value().elements()), 0.0f);
      std::vector<Tokens> from;
      if (model->kind() != ModelKind::decoder)
        from = testing::random_tokens({7, 17, 1, 9}, model->source_vocabulary(), 23);
      Runner runner(*model, from, testing::random_tokens({5, 1, 16, 33}, model->vocabulary(), 24), threads);
      float first = 0.0f, last = 0.0f;
      for (std::uint64_t step = 1; step <= 50; ++step) {
        model->clear_gradients();
        last = runner.loss(step, true);
        if (step == 1) first = last;
        const auto t = static_cast<float>(step);
        const kernels::AdamW adamw{
            3e-3f, 0.9f, 0.98f, 1e-9f, 0.01f, 1.0f, 1.0f - std::pow(0.9f, t), 1.0f - std::pow(0.98f, t)};
        std::size_t which = 0;
        for (Parameter* parameter : model->parameters()) {
          const std::int64_t count = parameter->value().elements();
          float* moment = moments[which++].data();
          kernels::adamw(runner.pool(), adamw, parameter->value().f32(), parameter->gradient().f32(), moment,
                         moment + count, count);
        }
      }
      EXPECT_LT(last, 0.9f * first) << name << " does not learn";
      Logits weights;
      for (const Parameter* parameter : model->parameters())
        weights.emplace_back(parameter->value().f32(),
                             parameter->value().f32() + parameter->value().elements());
      if (reference.empty()) reference = weights;
      ASSERT_EQ(weights, reference) << name << " with " << threads << " threads";
    }
  }
}

// Negative control: the same product summed in two halves over k is as accurate but differs in bits, and the
// comparison detects it.
TEST_P(BitRule, NegativeControlASplitOverKIsSeen) {
  ThreadPool pool(2);
  const std::int64_t m = 8, n = 40, k = 64;
  const std::vector<Tokens> draws = testing::random_tokens({m * k, n * k}, 2001, 5);
  std::vector<float> a, b, whole(static_cast<std::size_t>(m * n)), split = whole;
  for (const std::int32_t value : draws[0]) a.push_back(static_cast<float>(value) * 1e-3f - 1.0f);
  for (const std::int32_t value : draws[1]) b.push_back(static_cast<float>(value) * 1e-3f - 1.0f);
  kernels::Gemm product;
  product.m = m, product.n = n, product.k = k;
  product.a = a.data(), product.lda = k, product.b = b.data(), product.ldb = n;
  product.c = whole.data(), product.ldc = n;
  kernels::gemm(pool, product);
  product.k = k / 2, product.c = split.data();
  kernels::gemm(pool, product);
  std::vector<float> second(whole.size());
  product.a += k / 2, product.b += k / 2 * n, product.c = second.data();
  kernels::gemm(pool, product);
  for (std::size_t i = 0; i < split.size(); ++i) split[i] += second[i];
  float largest = 0.0f;
  for (std::size_t i = 0; i < split.size(); ++i) largest = std::max(largest, std::abs(split[i] - whole[i]));
  EXPECT_LT(largest, 1e-4f);
  EXPECT_NE(split, whole);
}

// Negative control: changing the last token of a sequence changes the last logits of that sequence only.
TEST_P(BitRule, NegativeControlAChangedTokenIsSeen) {
  const std::unique_ptr<Network> model = testing::tiny_model("gpt");
  std::vector<Tokens> tokens = targets(*model);
  Runner before(*model, {}, tokens, 2);
  tokens[3].back() = (tokens[3].back() + 1) % static_cast<std::int32_t>(model->vocabulary());
  Runner after(*model, {}, tokens, 2);
  const std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6};
  const Logits one = before.full(order), other = after.full(order);
  for (const std::size_t i : order)
    if (i != 3) {
      ASSERT_EQ(one[i], other[i]);
    }
  ASSERT_NE(one[3], other[3]);
  const auto kept = static_cast<std::ptrdiff_t>((tokens[3].size() - 1) * 37);
  EXPECT_TRUE(std::equal(one[3].begin(), one[3].begin() + kept, other[3].begin())) << "causality is broken";
}

REGARD_EACH_ISA(BitRule);

}  // namespace
}  // namespace regard::testing
