// Training with bf16 operands: losses close to the f32 losses, f32 weights in checkpoints, and the same bits
// for any number of threads and after a resume.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "formats/safetensors.h"
#include "kernels/bf16.h"
#include "ops/parameter.h"
#include "run_case.h"
#include "support/environment.h"
#include "train/trainer.h"

namespace regard::train {
namespace {

using kernels::Bf16Path;
using kernels::Precision;

struct Bf16Trained {
  std::vector<double> losses;
  std::vector<float> weights;
};

bool same_training(const Bf16Trained& a, const Bf16Trained& b) {
  return a.losses == b.losses && a.weights.size() == b.weights.size() &&
         std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0;
}

Bf16Trained bf16_trained(TrainerOptions options, int steps, int threads = 1, double dropout = 0.1) {
  const data::PairStore pairs = testing_task::tiny_pairs();
  const auto batches = pair_batches(pairs, {.batch_tokens = 100, .seed = 1}, 2);
  const auto model = testing_task::tiny_model(dropout);
  ThreadPool pool(threads);
  options.schedule = {.kind = ScheduleKind::constant, .peak = 3e-3};
  Trainer trainer(*model, pool, *batches, testing_task::next_token, options);
  Bf16Trained result;
  for (int step = 0; step < steps; ++step) result.losses.push_back(trainer.step().loss);
  for (const Parameter* parameter : model->parameters()) {
    const Tensor& value = parameter->value();
    result.weights.insert(result.weights.end(), value.f32(), value.f32() + value.elements());
  }
  return result;
}

TrainerOptions bf16_options(Precision precision, std::int64_t accumulate = 1) {
  TrainerOptions options;
  options.precision = precision;
  options.accumulate = accumulate;
  return options;
}

class Bf16Training : public ::testing::Test {
 protected:
  void TearDown() override { kernels::reset_bf16_path(); }
  // Return all bf16 code paths of this machine, and the emulation, which gives the same bits as AMX.
  static std::vector<Bf16Path> paths() {
    std::vector<Bf16Path> all = kernels::bf16_paths();
    all.push_back(Bf16Path::emulated);
    return all;
  }
};

TEST_F(Bf16Training, SameBitsForAnyThreadsAndWithCheckpointing) {
  const TrainerOptions options = bf16_options(Precision::bf16, 2);
  for (const Bf16Path path : paths()) {
    kernels::set_bf16_path(path);
    const int steps = path == Bf16Path::emulated ? 3 : 12;
    const Bf16Trained one = bf16_trained(options, steps);
    for (const int threads : {2, 3})
      EXPECT_TRUE(same_training(one, bf16_trained(options, steps, threads))) << name_of(path);
    TrainerOptions less = options;
    less.gradient_checkpointing = true;
    EXPECT_TRUE(same_training(one, bf16_trained(less, steps, 2))) << name_of(path);
    EXPECT_FALSE(same_training(one, bf16_trained(bf16_options(Precision::f32, 2), steps))) << "control: f32";
  }
}

TEST_F(Bf16Training, EmulationHasTheBitsOfAmx) {
  const std::vector<Bf16Path>& hardware = kernels::bf16_paths();
  if (hardware.empty() || hardware.back() != Bf16Path::amx_bf16) GTEST_SKIP() << "no AMX-BF16";
  const TrainerOptions options = bf16_options(Precision::bf16);
  const Bf16Trained amx = bf16_trained(options, 4);
  kernels::set_bf16_path(Bf16Path::emulated);
  EXPECT_TRUE(same_training(amx, bf16_trained(options, 4)));
}

// The first loss differs only by the rounding of the operands, and training reaches the same loss.
TEST_F(Bf16Training, ReachesTheLossOfF32) {
  for (const Bf16Path path : paths()) {
    kernels::set_bf16_path(path);
    const int steps = path == Bf16Path::emulated ? 20 : 200;
    const Bf16Trained exact = bf16_trained({}, steps, 1, 0.0);
    const Bf16Trained rounded = bf16_trained(bf16_options(Precision::bf16), steps, 1, 0.0);
    EXPECT_NEAR(exact.losses[0], rounded.losses[0], 0.02);
    EXPECT_NE(exact.losses[0], rounded.losses[0]);
    double difference = 0;
    for (int last = 1; last <= 10; ++last)
      difference +=
          (exact.losses[exact.losses.size() - last] - rounded.losses[exact.losses.size() - last]) / 10;
    EXPECT_LT(std::abs(difference), 0.05) << name_of(path);
    EXPECT_LT(rounded.losses.back(), 0.9 * rounded.losses[0]);
  }
}

class Bf16Run : public RunCase {
 protected:
  static std::string to(const char* run) { return std::string("output.folder=") + run; }
};

TEST_F(Bf16Run, ResumesWithTheSameBits) {
  if (kernels::bf16_paths().empty()) GTEST_SKIP() << "no bf16 instructions";
  const testing::SlowBf16 also_if_slow;
  const std::string bf16 = "training.precision=bf16";
  ASSERT_EQ(train({"--set", bf16, "--set", to("whole")}).exit_code, 0);
  ASSERT_EQ(train({"--set", bf16, "--set", to("parts"), "--set", "training.max_steps=13"}).exit_code, 0);
  const ProgramResult result = train({"--resume", "--set", bf16, "--set", to("parts")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(weights("whole"), weights("parts"));
  EXPECT_NE(state("whole")["isa"].get<std::string>().find(" with "), std::string::npos);
  // The checkpoint contains the f32 weights. Some of them are not representable in bf16.
  const auto file = formats::SafetensorsFile::open(folder / "whole/latest/model.safetensors");
  bool more = false;
  for (const formats::TensorEntry& entry : file->entries()) {
    ASSERT_EQ(entry.dtype, "F32");
    const Tensor value = file->tensor(entry.name);
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, value.f32() + i, sizeof bits);
      more = more || (bits & 0xFFFFu) != 0;
    }
  }
  EXPECT_TRUE(more);
}

TEST_F(Bf16Run, IsRefusedWhereItIsSlowerThanF32) {
  if (kernels::bf16_paths().empty() || kernels::default_bf16_path())
    GTEST_SKIP() << "no bf16 instructions, or fast ones";
  const ProgramResult result = train({"--set", "training.precision=bf16"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'training.precision' = \"bf16\" is slower than f32 on this processor"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(Bf16Run, IsRefusedWithoutInstructions) {
  setenv("REGARD_ISA", "avx2", 1);
  const ProgramResult result = train({"--set", "training.precision=bf16"});
  unsetenv("REGARD_ISA");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'training.precision' = \"bf16\" needs a processor with bf16 instructions"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

}  // namespace
}  // namespace regard::train
