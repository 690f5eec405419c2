// Training on several ranks, with and without a sharded optimiser, gives the same bits as training on one
// rank: weights, losses, gradient norms and optimiser state.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "distributed/thread_transport.h"
#include "kernels/bf16.h"
#include "train/rank_share.h"
#include "train/tiny_task.h"

namespace regard::train {
namespace {

using testing::on_ranks;

struct Trained {
  std::vector<float> weights;
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<float>> state;
  std::int64_t state_elements = 0;  // largest number of elements of optimiser state on one rank
  bool operator==(const Trained&) const = default;
};

std::vector<float> values(const Tensor& tensor) {
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

struct Case {
  std::string optimizer = "adamw";
  bool shard = false;
  NormType norm = NormType::two;
  int steps = 50;
  kernels::Precision precision = kernels::Precision::f32;
  bool checkpointing = false;
};

Trained trained_on(distributed::Ranks& ranks, const Case& setup, std::int64_t& held) {
  const data::PairStore pairs = testing_task::tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 60, .seed = 1}, 2);
  const auto model = testing_task::tiny_model(0.1);
  ThreadPool pool(1);
  TrainerOptions options;
  options.optimizer.method = setup.optimizer;
  options.optimizer.weight_decay = 0.01;
  options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
  options.accumulate = 4;
  options.label_smoothing = 0.1;
  options.clip_norm_type = setup.norm;
  options.layer_decay = 0.9;
  options.ema_decay = 0.9;
  options.ranks = &ranks;
  options.shard_optimizer = setup.shard;
  options.bucket_elements = 1500;  // several buckets; some contain only a part of a weight
  options.precision = setup.precision;
  options.gradient_checkpointing = setup.checkpointing;
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  Trained result;
  for (int step = 0; step < setup.steps; ++step) {
    const StepResult done = trainer.step();
    result.losses.push_back(done.loss);
    result.norms.push_back(done.gradient_norm);
  }
  for (const Parameter* parameter : model->parameters()) {
    const std::vector<float> weight = values(parameter->value());
    result.weights.insert(result.weights.end(), weight.begin(), weight.end());
  }
  held = 0;
  for (const auto& tensor : trainer.optimizer().state()) held += tensor.tensor.elements();
  const AveragedWeights averaged(trainer);
  for (const auto& tensor : trainer.gathered_state()) result.state[tensor.name] = values(tensor.tensor);
  return result;
}

// Train on `ranks` ranks and return the result of rank 0; expect the same weights and losses on all ranks.
// `most_held` receives the largest number of elements of optimiser state on one rank.
Trained trained(int ranks, const Case& setup, std::int64_t* most_held = nullptr) {
  Trained first;
  std::vector<Trained> all(static_cast<std::size_t>(ranks));
  std::int64_t most = 0;
  std::mutex mutex;
  on_ranks(ranks, [&](distributed::Ranks& here) {
    std::int64_t held = 0;
    Trained result = trained_on(here, setup, held);
    const std::lock_guard lock(mutex);
    most = std::max(most, held);
    all[static_cast<std::size_t>(here.rank())] = std::move(result);
  });
  for (const Trained& other : all) {
    EXPECT_EQ(other.weights, all[0].weights);
    EXPECT_EQ(other.losses, all[0].losses);
  }
  if (most_held != nullptr) *most_held = most;
  return all[0];
}

TEST(TrainerOnRanks, FiftyStepsGiveTheBitsOfOneRank) {
  const Trained one = trained(1, {});
  ASSERT_EQ(one.losses.size(), 50u);
  for (const int ranks : {2, 4}) EXPECT_TRUE(trained(ranks, {}) == one) << ranks;
}

// Layers that are computed again in the backward pass send their gradients after the second computation.
TEST(TrainerOnRanks, CheckpointedLayersGiveTheBitsOfOneRank) {
  const Trained one = trained(1, {.steps = 10});
  EXPECT_TRUE(trained(4, {.steps = 10, .checkpointing = true}) == one);
}

TEST(TrainerOnRanks, Bf16GivesTheBitsOfOneRank) {
  if (!kernels::default_bf16_path()) kernels::set_bf16_path(kernels::Bf16Path::emulated);
  const Case f32{.steps = 10}, bf16{.steps = 10, .precision = kernels::Precision::bf16};
  const Case sharded{.shard = true, .steps = 10, .precision = bf16.precision};
  const Trained one = trained(1, bf16);
  EXPECT_NE(one.weights, trained(1, f32).weights) << "the case shows nothing";
  for (const int ranks : {2, 4}) EXPECT_TRUE(trained(ranks, bf16) == one) << ranks;
  EXPECT_TRUE(trained(4, sharded) == one);
  kernels::reset_bf16_path();
}

// The first node of the forward pass. Its backward function runs after all others.
struct LastOfBackward : Tape::Node {
  std::int64_t* messages = nullptr;
  testing::ThreadNetwork* network = nullptr;
  int rank = 0;
  static void backward(LastOfBackward& node, Tape&) { *node.messages = node.network->sent(node.rank); }
};

// Counts the messages that a rank has sent before the forward pass and at the end of the backward pass.
struct CountingObjective : Objective {
  testing::ThreadNetwork& network;
  int rank;
  mutable std::int64_t before = 0, during = 0;
  CountingObjective(testing::ThreadNetwork& of, int rank) : network(of), rank(rank) {}
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    before = network.sent(rank);
    tape.record(LastOfBackward{{}, &during, &network, rank});
    return next_token_loss(model, tape, batch, options);
  }
};

// When the last node of the backward pass runs, all 12 buckets have been sent.
TEST(TrainerOnRanks, BucketsAreSentDuringTheBackwardPass) {
  testing::ThreadNetwork network(2);
  testing::on_ranks(network, [&](distributed::Ranks& here) {
    const data::PairStore pairs = testing_task::tiny_pairs();
    const auto batches = pair_batches(pairs, {.batch_tokens = 60, .seed = 1}, 2);
    const auto model = testing_task::tiny_model(0.1);
    ThreadPool pool(1);
    TrainerOptions options;
    options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
    options.accumulate = 4;
    options.ranks = &here;
    options.bucket_elements = model->parameter_count() / 12 + 1;
    const CountingObjective objective(network, here.rank());
    Trainer trainer(*model, pool, *batches, objective, options);
    for (int step = 0; step < 3; ++step) {
      trainer.step();
      // Each bucket sends at least one message, which contains a partial sum.
      EXPECT_GE(objective.during - objective.before, 12) << "step " << step;
    }
  });
}

// Test every optimiser, since their states have different shapes, and every norm.
TEST(TrainerOnRanks, ShardedOptimisersGiveTheBitsOfOneRank) {
  for (const std::string& method : optimizer_names()) {
    const Case whole{.optimizer = method, .steps = 5};
    const Case sharded{.optimizer = method, .shard = true, .steps = 5};
    const Trained one = trained(1, whole);
    for (const int ranks : {2, 4}) EXPECT_TRUE(trained(ranks, sharded) == one) << method << ", " << ranks;
  }
  for (const NormType norm : {NormType::one, NormType::infinity}) {
    const Trained one = trained(1, {.norm = norm, .steps = 5});
    EXPECT_TRUE(trained(4, {.shard = true, .norm = norm, .steps = 5}) == one);
  }
}

// A rank has at most its share of the optimiser's state, plus the state of one parameter.
TEST(TrainerOnRanks, AShardHasItsShareOfTheState) {
  std::int64_t whole = 0, shard = 0, largest = 0;
  trained(1, {.steps = 1}, &whole);
  trained(4, {.shard = true, .steps = 1}, &shard);
  const auto model = testing_task::tiny_model();
  for (const Parameter* parameter : model->parameters())
    largest = std::max(largest, parameter->value().elements());
  EXPECT_LE(shard, whole / 4 + 2 * largest);
  EXPECT_LT(shard, whole / 2);
}

TEST(TrainerOnRanks, MicroBatchesThatCannotBeDividedAreRefused) {
  EXPECT_EQ(micro_batches_of_rank(6, 3), 2);
  const Error error = testing::error_of([] { micro_batches_of_rank(4, 3); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  for (const char* part : {"4", "3 ranks", "training.accumulate"})
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

// If a rank stops sending in the middle of a step, the other ranks end with an error and their weights are
// unchanged.
TEST(TrainerOnRanks, ASilentRankEndsTheStep) {
  testing::ThreadNetwork network(2);
  network.silence(1, 40);
  const Error error = testing::error_of([&] {
    testing::on_ranks(
        network,
        [](distributed::Ranks& here) {
          std::int64_t held = 0;
          trained_on(here, {}, held);
        },
        0.5);
  });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
}

TEST(RankShare, TheHashOfTheWeightsDependsOnEachWeight) {
  const auto model = testing_task::tiny_model();
  const std::uint64_t hash = weights_hash(model->parameters());
  EXPECT_EQ(hash, weights_hash(testing_task::tiny_model()->parameters()));
  for (Parameter* parameter : {model->parameters().front(), model->parameters().back()}) {
    float& last = parameter->value().f32()[parameter->value().elements() - 1];
    const float before = std::exchange(last, last + 1.0f);
    EXPECT_NE(weights_hash(model->parameters()), hash) << parameter->name;
    last = before;
  }
  EXPECT_EQ(weights_hash(model->parameters()), hash);
}

TEST(RankShare, DifferencesBetweenRanksAreNamed) {
  const Error error = testing::error_of([] {
    on_ranks(3, [](distributed::Ranks& here) {
      const Agreement properties[] = {{"the step", 5},
                                      {"the data", here.rank() == 2 ? std::uint64_t{1} : std::uint64_t{0}}};
      check_agreement(here, properties);
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_NE(std::string(error.what()).find("the data of rank 2"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace regard::train
