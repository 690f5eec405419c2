// The loss over held-out data: its value and sign, and that each token is counted once.
#include "train/evaluation.h"
#include "ops/parameter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_models.h"
#include "tiny_task.h"

namespace regard::train {
namespace {

using testing_task::tiny_model;
using testing_task::tiny_pairs;

constexpr std::int32_t kStart = 2;

// Set all weights to 0, so that logits are 0 and every token has probability 1 / vocabulary.
void clear_weights(Network& model) {
  for (Parameter* parameter : model.parameters())
    std::fill_n(parameter->value().f32(), parameter->value().elements(), 0.0f);
}

class ValidationLoss : public ::testing::Test {
 protected:
  PassResources resources() { return {pool_, arena_}; }
  LossSum of_pairs(Network& model, const data::PairStore& pairs) {
    return pair_loss(model, resources(), pairs, kStart);
  }
  LossSum of_stream(Network& model, std::span<const std::int32_t> stream, std::int64_t context) {
    return stream_loss(model, resources(), stream, context);
  }
  ThreadPool pool_{2};
  Arena arena_;
};

TEST_F(ValidationLoss, OfEqualLogitsIsTheLogarithmOfTheVocabulary) {
  const auto translator = tiny_model(0.0);
  clear_weights(*translator);
  const data::PairStore pairs = tiny_pairs(1000);  // enough pairs for several batches
  const LossSum loss = of_pairs(*translator, pairs);
  EXPECT_GT(loss.tokens, 6000);
  EXPECT_EQ(loss.tokens, static_cast<std::int64_t>(pairs.target.tokens()));
  EXPECT_NEAR(loss.mean(), std::log(23.0), 1e-6);
  EXPECT_NEAR(loss.total, std::log(23.0) * static_cast<double>(loss.tokens), 0.05);

  const auto decoder = testing::tiny_model("gpt");
  clear_weights(*decoder);
  const auto stream = testing::random_tokens({101}, decoder->vocabulary(), 1)[0];
  for (const std::int64_t context : {1, 7, 10, 16}) {
    const LossSum text = of_stream(*decoder, stream, context);
    EXPECT_EQ(text.tokens, 100) << context;
    EXPECT_NEAR(text.mean(), std::log(static_cast<double>(decoder->vocabulary())), 1e-6) << context;
  }
}

TEST_F(ValidationLoss, IsTheSumOverItsPairs) {
  const auto model = tiny_model(0.3);  // evaluation must not apply dropout
  const data::PairStore pairs = tiny_pairs(800);
  LossSum sum;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    data::PairStore one;
    one.source.add(pairs.source[i]);
    one.target.add(pairs.target[i]);
    const LossSum loss = of_pairs(*model, one);
    EXPECT_GT(loss.total, 0.0);
    sum.total += loss.total;
    sum.tokens += loss.tokens;
  }
  const LossSum whole = of_pairs(*model, pairs);
  EXPECT_EQ(whole.tokens, sum.tokens);
  EXPECT_NEAR(whole.total, sum.total, 1e-5 * sum.total);
  EXPECT_EQ(of_pairs(*model, {}).mean(), 0.0) << "no pair, no loss";
}

// Validation batches are limited by source tokens, too, so more long sources do not need more memory.
TEST_F(ValidationLoss, NeedsNoMoreMemoryForMoreLongSources) {
  const auto model = tiny_model(0.0);
  std::vector<std::size_t> touched;
  for (const int count : {10, 80}) {
    data::PairStore pairs;
    for (int i = 0; i < count; ++i) {
      pairs.source.add(std::vector<std::int32_t>(400, 4));
      pairs.target.add(std::vector<std::int32_t>{5, 3});
    }
    arena_.discard();
    of_pairs(*model, pairs);
    touched.push_back(arena_.touched());
  }
  EXPECT_LT(static_cast<double>(touched[1]), 1.5 * static_cast<double>(touched[0]));
}

// The memory of example_loss() does not grow with the number of examples either, with and without a source.
TEST_F(ValidationLoss, NeedsNoMoreMemoryForMoreExamples) {
  const auto translator = tiny_model(0.0);
  const auto decoder = testing::tiny_model("gpt");
  const std::vector<std::int32_t> window = testing::random_tokens({17}, decoder->vocabulary(), 1)[0];
  const std::vector<std::int32_t> source(400, 4), target{5, 3};
  const auto touched = [&](Network& model, std::size_t examples, auto&& append) {
    arena_.discard();
    const LossSum loss = example_loss(model, resources(), examples, append);
    EXPECT_EQ(loss.tokens, static_cast<std::int64_t>(examples * (&model == decoder.get() ? 16 : 2)));
    return static_cast<double>(arena_.touched());
  };
  const auto add_pair = [&](Batch& batch, std::size_t i) { batch.add_pair(source, target, kStart, i); };
  EXPECT_LT(touched(*translator, 80, add_pair), 1.5 * touched(*translator, 10, add_pair));
  const auto add_window = [&](Batch& batch, std::size_t i) { batch.add_window(window, i); };
  EXPECT_LT(touched(*decoder, 2000, add_window), 1.5 * touched(*decoder, 250, add_window));
}

TEST_F(ValidationLoss, AStopRequestEndsItAfterTheBatch) {
  const auto model = tiny_model(0.0);
  const data::PairStore pairs = tiny_pairs(1000);  // several batches
  int calls = 0;
  const PassResources stopped{pool_, arena_, [&calls] { return ++calls == 2; }};
  EXPECT_THROW(pair_loss(*model, stopped, pairs, kStart), Stopped);
  EXPECT_EQ(calls, 2);
}

TEST_F(ValidationLoss, IsTheSumOverTheWindowsOfAStream) {
  const auto model = testing::tiny_model("llama");
  const auto stream = testing::random_tokens({52}, model->vocabulary(), 3)[0];
  const std::span<const std::int32_t> all(stream);
  LossSum sum;
  for (const std::size_t begin : {0u, 20u, 40u}) {
    const LossSum window = of_stream(*model, all.subspan(begin, std::min<std::size_t>(21, 52 - begin)), 20);
    sum.total += window.total;
    sum.tokens += window.tokens;
  }
  const LossSum whole = of_stream(*model, all, 20);
  EXPECT_EQ(sum.tokens, 51);
  EXPECT_EQ(whole.tokens, 51);
  EXPECT_NEAR(whole.total, sum.total, 1e-4);
  EXPECT_NE(of_stream(*model, all, 51).total, whole.total) << "a longer context is another loss";
  EXPECT_EQ(of_stream(*model, all.first(1), 20).tokens, 0);
}

}  // namespace
}  // namespace regard::train
