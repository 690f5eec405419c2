// Runs with each optimiser, moving averages, frozen weights and skipped steps, through the program.
#include "formats/safetensors.h"
#include "run_case.h"
#include "train/optimizers/optimizer.h"

namespace regard::train {
namespace {

class OptimizationRun : public RunCase {
 protected:
  std::vector<std::string> with(const std::vector<std::string>& settings) {
    std::vector<std::string> arguments;
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
  }
  void expect_resumed_equals_whole(std::vector<std::string> settings) {
    // an average would differ, because the two runs validate at different steps
    settings.push_back("training.average_last=0");
    std::vector<std::string> parts = settings, rest = settings, whole = settings;
    parts.insert(parts.end(), {"training.max_steps=7", "output.folder=parts"});
    rest.insert(rest.end(), {"training.max_steps=16", "output.folder=parts"});
    whole.insert(whole.end(), {"training.max_steps=16", "output.folder=whole"});
    ASSERT_EQ(train(with(whole)).exit_code, 0);
    ASSERT_EQ(train(with(parts)).exit_code, 0);
    std::vector<std::string> resume = with(rest);
    resume.insert(resume.end(), {"--resume", "--threads", "2"});
    const ProgramResult result = train(resume);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("resumed at step 7"), std::string::npos) << result.err;
    EXPECT_TRUE(weights("whole") == weights("parts"));
    for (const char* run : {"whole", "parts"}) fs::remove_all(folder / run);
  }
};

TEST_F(OptimizationRun, ResumedEqualsWholeForEveryOptimizer) {
  for (const std::string& method : optimizer_names()) {
    SCOPED_TRACE(method);
    expect_resumed_equals_whole({"training.optimizer=" + method, "training.ema_decay=0.8",
                                 "training.layer_decay=0.9", "training.schedule=constant"});
  }
}

// A checkpoint contains the average as the model, and the weights themselves in optimizer.safetensors.
// Without an average the bits differ.
TEST_F(OptimizationRun, CheckpointsHaveTheMovingAverage) {
  ASSERT_EQ(train(with({"training.max_steps=6", "training.ema_decay=0.8"})).exit_code, 0);
  ASSERT_EQ(train(with({"training.max_steps=6", "output.folder=plain"})).exit_code, 0);
  EXPECT_NE(weights("run"), weights("plain"));
  const auto state = formats::SafetensorsFile::open(folder / "run/latest/optimizer.safetensors");
  const auto plain = formats::SafetensorsFile::open(folder / "plain/latest/model.safetensors");
  for (const formats::TensorEntry& entry : plain->entries()) {
    const Tensor kept = state->tensor("weight." + entry.name), expected = plain->tensor(entry.name);
    EXPECT_EQ(std::memcmp(kept.data(), expected.data(), expected.bytes()), 0) << entry.name;
  }
}

TEST_F(OptimizationRun, SkippedStepsAreCountedAndTooManyEndTheRun) {
  const ProgramResult result =
      train(with({"training.learning_rate=1e6", "training.clip_norm=0", "training.warmup_steps=0",
                  "training.schedule=constant", "training.max_skipped_steps=3",
                  "output.checkpoint_every_steps=1", "output.log_every_steps=1"}));
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("after 3 skipped steps in a row"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("last checkpoint is step"), std::string::npos) << result.err;
  std::int64_t skipped = 0, last = 0;
  for (const Json& line : log("run")) {
    if (!line.contains("skipped")) continue;
    last = line["step"];
    EXPECT_EQ(line["skipped"]["total"], ++skipped);
  }
  EXPECT_EQ(skipped, 3);
  EXPECT_LE(state("run")["step"], last - 3) << "no checkpoint of a skipped step";
}

TEST_F(OptimizationRun, UnknownFrozenNamesAreRefused) {
  const ProgramResult result = train(with({"training.freeze=[\"encodr.*\"]"}));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("training.freeze"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// A key that the chosen optimiser or schedule ignores is refused with the reason.
TEST_F(OptimizationRun, KeysWithoutEffectAreRefused) {
  for (const auto& [setting, reason] : {std::pair{"training.momentum=0.9", "only sgd or rmsprop"},
                                        {"training.restarts=3", "only the schedule cosine-restarts"},
                                        {"training.muon_learning_rate=0.1", "only muon"},
                                        {"training.ema_warmup=true", "'training.ema_decay' is 0"},
                                        {"training.min_learning_rate=1e-4", "does not use it"}}) {
    const ProgramResult result = train(with({setting}));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(reason), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace regard::train
