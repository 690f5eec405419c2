// Gradient checkpointing: the same bits of losses and weights, with less memory. Other families:
// new_families_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "ops/parameter.h"
#include "run_case.h"
#include "support/resident.h"
#include "train/trainer.h"

namespace regard::train {
namespace {

using testing_task::tiny_pairs;

std::unique_ptr<Network> model_of(const TransformerConfig& config) {
  auto model = make_transformer(config);
  initialise(*model, 3);
  return model;
}

TransformerConfig sizes() {
  TransformerConfig config;
  config.vocabulary = 23;
  config.encoder_layers = config.decoder_layers = 4;
  config.hidden_size = 32;
  config.heads = 2;
  config.feed_forward_size = 128;
  config.dropout = config.attention_dropout = config.activation_dropout = 0.1;
  return config;
}

struct CheckpointTrained {
  std::vector<double> losses, norms;
  std::vector<float> weights;
  std::size_t activation_bytes = 0;
};

TrainerOptions accumulating(std::uint64_t seed = 1) {
  TrainerOptions options;
  options.accumulate = 2;
  options.seed = seed;
  return options;
}

CheckpointTrained checkpoint_trained(const TransformerConfig& config, TrainerOptions options, int threads,
                                     bool checkpointing) {
  const data::PairStore pairs = tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 1000, .seed = 1}, 2);
  const auto model = model_of(config);
  ThreadPool pool(threads);
  options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
  options.gradient_checkpointing = checkpointing;
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  CheckpointTrained result;
  for (int step = 0; step < 5; ++step) {
    const StepResult one = trainer.step();
    result.losses.push_back(one.loss);
    result.norms.push_back(one.gradient_norm);
  }
  for (const Parameter* parameter : model->parameters()) {
    const Tensor& value = parameter->value();
    result.weights.insert(result.weights.end(), value.f32(), value.f32() + value.elements());
  }
  result.activation_bytes = trainer.activation_bytes();
  return result;
}

void expect_same_bits(const CheckpointTrained& plain, const CheckpointTrained& checkpointed) {
  EXPECT_EQ(plain.losses, checkpointed.losses);
  EXPECT_EQ(plain.norms, checkpointed.norms);
  ASSERT_EQ(plain.weights.size(), checkpointed.weights.size());
  EXPECT_EQ(
      std::memcmp(plain.weights.data(), checkpointed.weights.data(), plain.weights.size() * sizeof(float)),
      0);
}

// The backward pass recomputes layers with the dropout masks of the forward pass. Control: another seed gives
// other losses.
TEST(Checkpointing, SameBitsAndHalfTheMemory) {
  for (const char* norm : {"pre", "post"}) {
    TransformerConfig config = sizes();
    config.norm = norm;
    const CheckpointTrained plain = checkpoint_trained(config, accumulating(), 1, false);
    for (const int threads : {1, 3}) {
      const CheckpointTrained less = checkpoint_trained(config, accumulating(), threads, true);
      expect_same_bits(plain, less);
      EXPECT_LT(less.activation_bytes * 2, plain.activation_bytes) << norm;
    }
    const CheckpointTrained other = checkpoint_trained(config, accumulating(2), 1, true);
    EXPECT_NE(plain.losses, other.losses);
  }
}

// Gradients pass through a frozen layer of the decoder, and are not computed for a frozen encoder.
TEST(Checkpointing, SameBitsWithFrozenLayers) {
  const std::vector<std::string> encoder{"encoder.*", "*embed*"}, middle{"decoder.layers.1.*"};
  for (const auto& frozen : {encoder, middle}) {
    TrainerOptions options;
    options.freeze = frozen;
    expect_same_bits(checkpoint_trained(sizes(), options, 1, false),
                     checkpoint_trained(sizes(), options, 2, true));
  }
}

// Reset the peak of the resident memory. Return false if the kernel does not allow it.
bool peak_restarted() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

// Compare the memory of activations, gradients and the optimiser's state with the growth of the process in a
// step.
void expect_reported_memory() {
  constexpr double kMiB = 1024.0 * 1024.0;
  TransformerConfig config = sizes();
  config.hidden_size = 64, config.feed_forward_size = 256;
  const data::PairStore pairs = tiny_pairs(4000);
  ThreadPool pool(1);
  for (const bool checkpointing : {false, true}) {
    const auto batches = pair_batches(pairs, {.batch_tokens = checkpointing ? 24'000 : 8'000, .seed = 1}, 2);
    const auto model = model_of(config);
    TrainerOptions options;
    options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
    options.gradient_checkpointing = checkpointing;
    ASSERT_TRUE(peak_restarted());
    const double before = regard::testing::resident_mib();
    Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
    trainer.step();
    double reported = static_cast<double>(trainer.activation_bytes());
    for (const Parameter* parameter : model->parameters())
      reported += static_cast<double>(parameter->value().bytes());
    for (const formats::NamedTensor& tensor : trainer.state())
      reported += static_cast<double>(tensor.tensor.bytes());
    reported /= kMiB;
    const double grown = regard::testing::resident_mib("VmHWM") - before;
    EXPECT_GT(reported, 30.0);
    EXPECT_NEAR(grown, reported, 0.1 * reported) << checkpointing;
  }
}

// The memory of activations, gradients and the optimiser's state is within 10 % of the growth of the process.
// The test uses a new process, because a process that reuses freed memory does not grow.
TEST(Checkpointing, ReportedMemoryIsWithinATenthOfThePeak) {
  if (!peak_restarted()) GTEST_SKIP() << "this kernel does not start a new peak";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        expect_reported_memory();
        std::exit(HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

class CheckpointedRun : public RunCase {};

// training.gradient_checkpointing may differ between start and resume. Weights that were packed for a
// validation are not reused after a step.
TEST_F(CheckpointedRun, ResumesWithAndWithout) {
  const auto to = [](const char* run) { return std::string("output.folder=") + run; };
  ASSERT_EQ(train({"--set", to("plain")}).exit_code, 0);
  ASSERT_EQ(train({"--set", to("less"), "--set", "training.gradient_checkpointing=true"}).exit_code, 0);
  EXPECT_EQ(weights("plain"), weights("less"));
  ASSERT_EQ(train({"--set", to("mixed"), "--set", "training.max_steps=12"}).exit_code, 0);
  const ProgramResult result =
      train({"--resume", "--set", to("mixed"), "--set", "training.gradient_checkpointing=true"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(weights("plain"), weights("mixed"));
}

TEST_F(CheckpointedRun, IsRefusedForRecurrentFamilies) {
  const ProgramResult result =
      train({"--set", "model.family=rnn-search", "--set", "training.gradient_checkpointing=true"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'model.family' has no layers of a Transformer"), std::string::npos)
      << result.err;
}

// Return X of the line "…, X MiB for the activations of the first step".
double activations_of(const std::string& text) {
  const std::size_t end = text.find(" MiB for the activations"), start = text.rfind(' ', end - 1);
  return end == std::string::npos ? 0.0 : std::stod(text.substr(start, end - start));
}

TEST_F(CheckpointedRun, DryRunReportsLessMemory) {
  const std::vector<std::string> large{"--dry-run",
                                       "--set",
                                       "model.encoder_layers=6",
                                       "--set",
                                       "model.hidden_size=64",
                                       "--set",
                                       "training.batch_tokens=4000"};
  std::vector<std::string> less = large;
  less.insert(less.end(), {"--set", "training.gradient_checkpointing=true"});
  const double all = activations_of(train(large).out), some = activations_of(train(less).out);
  EXPECT_GT(all, 4.0);
  EXPECT_GT(some, 0.5);
  EXPECT_LT(some, 0.7 * all);
}

}  // namespace
}  // namespace regard::train
