// Training steps: the same bits for any number of threads, the loss of the whole accumulated batch, no
// allocation, and progress in learning.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "models/lora.h"
#include "support/count_allocations.h"
#include "support/throws.h"
#include "tiny_task.h"
#include "train/layer_rates.h"

namespace regard::train {
namespace {

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

using testing_task::tiny_model;
using testing_task::tiny_pairs;

TrainerOptions options_with(std::int64_t accumulate) {
  TrainerOptions options;
  options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
  options.accumulate = accumulate;
  options.label_smoothing = 0.1;
  return options;
}

std::vector<float> weights(Network& model) {
  std::vector<float> all;
  for (const Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value();
    all.insert(all.end(), value.f32(), value.f32() + value.elements());
  }
  return all;
}

std::vector<float> trained(int threads, int steps, std::uint64_t seed = 1) {
  const data::PairStore pairs = tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 100, .seed = 1}, 2);
  const auto model = tiny_model();
  ThreadPool pool(threads);
  TrainerOptions options = options_with(2);
  options.seed = seed;
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  for (int step = 0; step < steps; ++step) trainer.step();
  return weights(*model);
}

bool equal_state(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Training is bit-identical for any number of threads, with dropout and accumulation. Control: another seed
// (of dropout) gives other bits.
TEST(Trainer, FiftyStepsGiveTheSameWeightsForAnyThreads) {
  const std::vector<float> one = trained(1, 50);
  for (const int threads : {2, 3, 8}) EXPECT_TRUE(equal_state(one, trained(threads, 50))) << threads;
  EXPECT_FALSE(equal_state(one, trained(1, 50, 2)));
}

// Returns batches of `each` pairs in order, to put the same sequences into one batch or several.
class FixedBatches : public BatchSource {
 public:
  FixedBatches(const data::PairStore& pairs, std::size_t each) : pairs_(pairs), each_(each) {}
  void next(Batch& batch, std::uint64_t first_index) override {
    batch.clear();
    for (std::size_t i = 0; i < each_; ++i, ++at_)
      batch.add_pair(pairs_.source[at_ % pairs_.size()], pairs_.target[at_ % pairs_.size()], 2,
                     first_index++);
  }
  double epochs() const override { return 0; }
  Json state() const override { return {}; }
  void restore(const Json&, const std::string&) override {}

 private:
  const data::PairStore& pairs_;
  std::size_t each_, at_ = 0;
};

// A FixedBatches whose labels are all ignored from batch `first` on.
class IgnoredFrom : public FixedBatches {
 public:
  IgnoredFrom(const data::PairStore& pairs, std::size_t each, int first)
      : FixedBatches(pairs, each), first_(first) {}
  void next(Batch& batch, std::uint64_t first_index) override {
    FixedBatches::next(batch, first_index);
    if (count_++ >= first_) std::fill(batch.labels.begin(), batch.labels.end(), kIgnoredLabel);
  }

 private:
  int first_, count_ = 0;
};

StepResult one_step(std::int64_t accumulate, std::size_t each, std::vector<float>& after) {
  const data::PairStore pairs = tiny_pairs(12);
  FixedBatches batches(pairs, each);
  const auto model = tiny_model(0.2);
  ThreadPool pool(1);
  TrainerOptions options = options_with(accumulate);
  options.optimizer.epsilon = 1.0;  // makes the update nearly proportional to the gradient
  Trainer trainer(*model, pool, batches, testing_task::next_token, options);
  const StepResult result = trainer.step();
  after = weights(*model);
  return result;
}

// The loss is the mean over all tokens of the step, and dropout depends on the index of the sequence in the
// step. Therefore, dividing a batch into micro-batches changes results only by rounding.
TEST(Trainer, AccumulationEqualsOneLargeBatch) {
  std::vector<float> whole, parts;
  const StepResult large = one_step(1, 12, whole);
  const StepResult small = one_step(4, 3, parts);
  EXPECT_EQ(large.target_tokens, small.target_tokens);
  EXPECT_EQ(large.sequences, small.sequences);
  EXPECT_NEAR(large.loss, small.loss, 1e-5);
  EXPECT_NEAR(large.gradient_norm, small.gradient_norm, 1e-5);
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], parts[i], 1e-6);
}

TEST(Trainer, LearnsToCopy) {
  const data::PairStore pairs = tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 200, .seed = 1}, 2);
  const auto model = tiny_model(0.0);
  ThreadPool pool(2);
  TrainerOptions options = options_with(1);
  options.label_smoothing = 0.0;
  options.schedule = {.kind = ScheduleKind::constant, .peak = 1e-2, .warmup = 20};
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  const double first = trainer.step().loss;
  double last = first;
  for (int step = 0; step < 400; ++step) last = trainer.step().loss;
  EXPECT_GT(first, 2.5);
  EXPECT_LT(last, 1.0);
}

// A step that is interrupted after any of its operations changes nothing. The next step has the same result
// as in a trainer that was never interrupted.
TEST(Trainer, AnAbandonedStepChangesNothing) {
  const data::PairStore pairs = tiny_pairs();
  const auto trained = [&](bool interrupted, int& calls) {
    const auto batches = pair_batches(pairs, {.batch_tokens = 60, .seed = 1}, 2);
    const auto model = tiny_model(0.1);
    ThreadPool pool(1);
    TrainerOptions options = options_with(3);
    options.gradient_checkpointing = true;
    Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
    int operations = 0, limit = 0;
    trainer.set_interrupt([&] { return ++operations == limit; });
    for (int step = 0; step < 4; ++step) {
      for (limit = step + 1; interrupted && limit < calls; limit += 1 + calls / 7) {
        operations = 0;
        EXPECT_THROW(trainer.step(), StepAbandoned);
        EXPECT_EQ(trainer.steps(), step);
      }
      limit = operations = 0;
      trainer.step();
      if (!interrupted) calls = std::max(calls, operations);
    }
    return weights(*model);
  };
  int calls = 0;
  const std::vector<float> plain = trained(false, calls);
  EXPECT_GT(calls, 100);
  EXPECT_EQ(trained(true, calls), plain);
}

class SteadySteps : public ::testing::TestWithParam<std::string> {};

TEST_P(SteadySteps, AllocateNothing) {
  const data::PairStore pairs = tiny_pairs(600);
  // Train for more than one epoch, so that the largest batches have occurred. The second epoch must not end
  // during the measured steps.
  const auto batches = pair_batches(pairs, {.batch_tokens = 100, .seed = 1}, 2);
  const auto model = tiny_model();
  ThreadPool pool(2);
  TrainerOptions options = options_with(2);
  options.optimizer.method = GetParam();
  options.ema_decay = 0.9;
  options.layer_decay = 0.9;
  options.gradient_checkpointing = GetParam() == "adamw";
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  while (batches->epochs() < 1.5) trainer.step();
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const std::int64_t before = testing::allocation_count;
  for (int step = 0; step < 4; ++step) trainer.step();
  EXPECT_EQ(testing::allocation_count - before, 0);
  EXPECT_LT(batches->epochs(), 2.0);
}

INSTANTIATE_TEST_SUITE_P(Trainer, SteadySteps, ::testing::ValuesIn(optimizer_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Trainer, LossThatIsNotFiniteStopsBeforeTheWeightsChange) {
  const data::PairStore pairs = tiny_pairs(12);
  FixedBatches batches(pairs, 4);
  const auto model = tiny_model();
  ThreadPool pool(1);
  Trainer trainer(*model, pool, batches, testing_task::next_token, options_with(1));
  trainer.step();
  model->parameters()[0]->variable.value.f32()[0] = std::numeric_limits<float>::quiet_NaN();
  Parameter* last = model->parameters().back();
  const std::vector<float> before(last->value().f32(), last->value().f32() + last->value().elements());
  // The tied output uses every row of the embedding, so the loss is NaN.
  EXPECT_REGARD_ERROR(trainer.step(), ErrorKind::numeric, "step 2");
  EXPECT_EQ(std::memcmp(before.data(), last->value().data(), last->value().bytes()), 0);
  EXPECT_EQ(trainer.steps(), 1);
}

// A step with a loss that is not finite is skipped and counted. Weights, optimiser and average do not change;
// the next good step continues.
TEST(Trainer, StepsThatAreNotFiniteAreSkipped) {
  const data::PairStore pairs = tiny_pairs(12);
  FixedBatches batches(pairs, 4);
  const auto model = tiny_model();
  ThreadPool pool(1);
  TrainerOptions options = options_with(2);
  options.max_skipped_steps = 2;
  options.ema_decay = 0.9;
  Trainer trainer(*model, pool, batches, testing_task::next_token, options);
  EXPECT_FALSE(trainer.step().skipped);
  float& weight = model->parameters()[0]->variable.value.f32()[0];
  const float good = weight;
  for (int round = 0; round < 2; ++round) {  // a good step resets the count of skipped steps in a row
    weight = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> before = weights(*model);
    for (int step = 1; step <= 2; ++step) {
      EXPECT_TRUE(trainer.step().skipped);
      EXPECT_EQ(trainer.skipped().in_row, step);
      EXPECT_TRUE(equal_state(before, weights(*model)));
    }
    EXPECT_EQ(trainer.optimizer().steps(), trainer.steps() - trainer.skipped().total);
    weight = good;
    EXPECT_FALSE(trainer.step().skipped);
    EXPECT_EQ(trainer.skipped().in_row, 0);
  }
  EXPECT_EQ(trainer.steps(), 7);
  EXPECT_EQ(trainer.skipped().total, 4);
  weight = std::numeric_limits<float>::quiet_NaN();
  trainer.step();
  trainer.step();
  EXPECT_REGARD_ERROR(trainer.step(), ErrorKind::numeric, "step 10 is not finite, after 2 skipped steps");
  const AveragedWeights averaged(trainer);
  for (const float value : weights(*model)) ASSERT_TRUE(std::isfinite(value)) << "of the average";
}

// Adafactor with relative_step ignores the schedule; the step reports the rate that it used.
TEST(Trainer, ReportsTheRateOfTheMethod) {
  const data::PairStore pairs = tiny_pairs(12);
  FixedBatches batches(pairs, 4);
  const auto model = tiny_model();
  ThreadPool pool(1);
  TrainerOptions options = options_with(1);
  options.optimizer.method = "adafactor";
  options.optimizer.adafactor.relative_step = options.optimizer.adafactor.warmup_init = true;
  Trainer trainer(*model, pool, batches, testing_task::next_token, options);
  EXPECT_DOUBLE_EQ(trainer.step().learning_rate, 1e-6);
  EXPECT_DOUBLE_EQ(trainer.step().learning_rate, 2e-6);
}

TEST(Trainer, FrozenWeightsDoNotChange) {
  const data::PairStore pairs = tiny_pairs(12);
  FixedBatches batches(pairs, 4);
  const auto model = tiny_model();
  ThreadPool pool(1);
  TrainerOptions options = options_with(1);
  options.freeze = {"encoder.*"};
  Trainer trainer(*model, pool, batches, testing_task::next_token, options);
  std::vector<Tensor> before;
  for (const Parameter* parameter : model->parameters()) before.push_back(parameter->value().clone());
  for (int step = 0; step < 3; ++step) trainer.step();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Parameter& parameter = *model->parameters()[i];
    const bool same = std::memcmp(parameter.value().data(), before[i].data(), before[i].bytes()) == 0;
    EXPECT_EQ(same, parameter.name.starts_with("encoder.")) << parameter.name;
  }
  for (const formats::NamedTensor& state : trainer.state())
    EXPECT_EQ(state.name.find("encoder."), std::string::npos) << state.name;
}

// With SGD, multiplying the learning rate by f multiplies the update by f.
TEST(Trainer, LowerLayersLearnSlower) {
  const data::PairStore pairs = tiny_pairs(12);
  ThreadPool pool(1);
  std::vector<std::vector<float>> updates;
  std::vector<double> rates;
  for (const double decay : {1.0, 0.5}) {
    FixedBatches batches(pairs, 4);
    const auto model = tiny_model();
    TrainerOptions options = options_with(1);
    options.optimizer.method = "sgd";
    options.layer_decay = decay;
    Trainer trainer(*model, pool, batches, testing_task::next_token, options);
    const std::vector<float> before = weights(*model);
    trainer.step();
    updates.push_back(weights(*model));
    for (std::size_t i = 0; i < before.size(); ++i) updates.back()[i] -= before[i];
    const std::vector<Parameter*> all = model->parameters();
    rates = layer_rates(all, all, 0.5);
    if (decay == 1.0) continue;
    std::size_t at = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::int64_t j = 0; j < all[i]->value().elements(); ++j, ++at)
        ASSERT_NEAR(updates[1][at], rates[i] * double{updates[0][at]}, 2e-7) << all[i]->name;
  }
}

// Steps that train an adapter: the same bits for any threads, no change of other weights, no allocation.
TEST(Trainer, AnAdapterIsTrainedAlone) {
  const data::PairStore pairs = tiny_pairs(60);
  LoraConfig config;
  config.rank = 3;
  config.targets = {"all-linear"};
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    FixedBatches batches(pairs, 4);
    const auto model = tiny_model();
    const std::vector<float> before = weights(*model);
    ThreadPool pool(threads);
    const Lora lora(*model, config, 1);
    TrainerOptions options = options_with(2);
    options.only = lora.parameters();
    options.layer_decay = 0.9;
    options.ema_decay = 0.9;
    Trainer trainer(*model, pool, batches, testing_task::next_token, options);
    for (int step = 0; step < 20; ++step) trainer.step();
    const std::int64_t allocations = testing::allocation_count;
    for (int step = 0; step < 4; ++step) trainer.step();
    if (testing::counting()) {
      EXPECT_EQ(testing::allocation_count - allocations, 0);
    }
    EXPECT_TRUE(equal_bits(before, weights(*model)));
    results.emplace_back();
    for (const Parameter* parameter : lora.parameters())
      results.back().insert(results.back().end(), parameter->value().f32(),
                            parameter->value().f32() + parameter->value().elements());
  }
  EXPECT_TRUE(equal_bits(results[0], results[1]));
}

// The mean is over labels that are not ignored. A micro-batch with only ignored labels adds zero, not NaN.
TEST(Trainer, IgnoredLabelsDoNotCount) {
  const data::PairStore pairs = tiny_pairs();
  ThreadPool pool(2);
  const auto step = [&](std::int64_t accumulate, int ignored_from, std::vector<float>& after) {
    IgnoredFrom batches(pairs, 4, ignored_from);
    const auto model = tiny_model();
    Trainer trainer(*model, pool, batches, testing_task::next_token, options_with(accumulate));
    const StepResult result = trainer.step();
    after = weights(*model);
    return result;
  };
  std::vector<float> alone, beside, none;
  const StepResult one = step(1, 1, alone), two = step(2, 1, beside), nothing = step(2, 0, none);
  EXPECT_EQ(two.target_tokens, one.target_tokens);
  EXPECT_EQ(two.loss, one.loss);
  EXPECT_EQ(two.gradient_norm, one.gradient_norm);
  EXPECT_TRUE(equal_state(alone, beside));
  EXPECT_EQ(nothing.target_tokens, 0);
  EXPECT_EQ(nothing.loss, 0.0);
  EXPECT_EQ(nothing.gradient_norm, 0.0);
}

}  // namespace
}  // namespace regard::train
