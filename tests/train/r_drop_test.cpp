// R-Drop: loss and gradients equal PyTorch's, and the two passes of a model draw different dropout.
#include "train/r_drop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/cross_entropy.h"
#include "ops/parameter.h"
#include "ops/symmetric_divergence.h"
#include "run_case.h"
#include "support/golden.h"
#include "support/shared_data.h"
#include "train/trainer.h"

namespace regard::train {
namespace {

Tensor matrix_of(const Json& rows) {
  const auto columns = static_cast<std::int64_t>(rows[0].size());
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(rows.size()), columns});
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      tensor.row(static_cast<std::int64_t>(r))[c] = rows[r][c].get<float>();
  return tensor;
}

TEST(RDrop, LossAndGradientsEqualTorch) {
  const Json cases = read_json(regard::testing::golden("tasks/r-drop.json").string())["cases"];
  ASSERT_GE(cases.size(), 3u);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const Json& one : cases) {
      const auto labels = one["labels"].get<std::vector<std::int32_t>>();
      const auto counted =
          std::count_if(labels.begin(), labels.end(), [](auto id) { return id != kIgnoredLabel; });
      Arena arena;
      Tape tape(pool, arena);
      tape.begin({.record = true});
      const Tensor values[] = {matrix_of(one["first"]), matrix_of(one["second"])};
      const Var inputs[] = {tape.input(values[0], true), tape.input(values[1], true)};
      const LossOptions options{.label_smoothing = one["label_smoothing"].get<float>(),
                                .factor = 1.0f / static_cast<float>(counted),
                                .r_drop = one["alpha"].get<float>()};
      int pass = 0;
      Var loss = r_drop_loss(
          tape, labels, options, [&] { return inputs[pass++]; },
          [&](Var logits, const LossOptions& half) {
            return ops::cross_entropy(tape, logits, labels,
                                      {half.label_smoothing, kIgnoredLabel, half.factor});
          });
      EXPECT_NEAR(loss->value.f32()[0], one["loss"].get<float>(), 1e-5);
      tape.backward(loss);
      const Tensor gradients[] = {matrix_of(one["first_gradient"]), matrix_of(one["second_gradient"])};
      for (std::size_t i = 0; i < 2; ++i)
        regard::testing::expect_close(inputs[i]->gradient, gradients[i], 1e-6, 1.0, "gradient");
    }
  }
}

TEST(RDrop, DivergenceOfLogitsWithNanIsNan) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor values = Tensor::of({2, 2}, {1.0f, nan, 1.0f, 2.0f});
  const Var first = tape.input(values, true), second = tape.input(values, true);
  const std::int32_t labels[] = {0, 1};
  Var loss = ops::symmetric_divergence(tape, first, second, labels, kIgnoredLabel, 1.0f);
  EXPECT_TRUE(std::isnan(loss->value.f32()[0])) << loss->value.f32()[0];
  tape.backward(loss);
  EXPECT_TRUE(std::isnan(first->gradient.f32()[0]));
  EXPECT_TRUE(std::isnan(second->gradient.f32()[0]));
}

struct RDropTrained {
  std::vector<double> losses;
  std::vector<float> weights;
};

TrainerOptions with_r_drop(double weight, double smoothing = 0.0) {
  TrainerOptions options;
  options.label_smoothing = smoothing;
  options.r_drop = weight;
  return options;
}

RDropTrained r_drop_trained(double dropout, TrainerOptions options, int threads = 1) {
  const data::PairStore pairs = testing_task::tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 100, .seed = 1}, 2);
  const auto model = testing_task::tiny_model(dropout);
  ThreadPool pool(threads);
  options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  RDropTrained result;
  for (int step = 0; step < 6; ++step) result.losses.push_back(trainer.step().loss);
  for (const Parameter* parameter : model->parameters()) {
    const Tensor& value = parameter->value();
    result.weights.insert(result.weights.end(), value.f32(), value.f32() + value.elements());
  }
  return result;
}

bool same_run(const RDropTrained& a, const RDropTrained& b) {
  return a.losses == b.losses && a.weights.size() == b.weights.size() &&
         std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0;
}

// Without dropout both passes are equal and the divergence is 0; with dropout it is positive.
TEST(RDrop, PassesDifferOnlyByDropout) {
  for (const double dropout : {0.0, 0.3}) {
    const double plain = r_drop_trained(dropout, {}).losses[0],
                 once = r_drop_trained(dropout, with_r_drop(1)).losses[0],
                 twice = r_drop_trained(dropout, with_r_drop(3)).losses[0];
    if (dropout == 0.0) {
      EXPECT_NEAR(plain, once, 1e-6);
      EXPECT_NEAR(plain, twice, 1e-6);
    } else {
      EXPECT_GT(twice, once + 1e-3);
    }
  }
}

TEST(RDrop, SameBitsForAnyThreadsAndWithCheckpointing) {
  const TrainerOptions options = with_r_drop(1, 0.1);
  const RDropTrained one = r_drop_trained(0.2, options);
  for (const int threads : {2, 3}) EXPECT_TRUE(same_run(one, r_drop_trained(0.2, options, threads)));
  TrainerOptions less = options;
  less.gradient_checkpointing = true;
  EXPECT_TRUE(same_run(one, r_drop_trained(0.2, less, 2)));
  EXPECT_FALSE(same_run(one, r_drop_trained(0.2, with_r_drop(0, 0.1)))) << "control";
}

class RDropRun : public RunCase {};

TEST_F(RDropRun, TrainsTranslation) {
  ASSERT_EQ(train({"--set", "training.r_drop=1", "--set", "training.max_steps=300"}).exit_code, 0);
  double loss = 10;
  for (const Json& line : log("run"))
    if (line.contains("validation")) loss = line["validation"]["loss"];
  EXPECT_LT(loss, 1.5);
}

TEST_F(RDropRun, IsAKeyOfTranslationAndClassification) {
  const ProgramResult result =
      train({"--set", "training.r_drop=1", "--set", "task=language-model", "--set",
             "data.train=[\"train.en\"]", "--set", "data.valid=[\"valid.en\"]", "--dry-run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("training.r_drop"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace regard::train
