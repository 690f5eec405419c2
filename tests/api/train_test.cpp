// The public Training class gives bit-identical results to `regard train`, also with callbacks, stops and
// several threads.
#include "regard/train.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/together.h"
#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

using testing::file_content;

class PublicTraining : public ::testing::Test {
 protected:
  PublicTraining() { train::testing_task::write_run(folder_.path()); }

  // Return options for a run with the output folder `name`.
  TrainingOptions to(const std::string& name, std::vector<std::string> more = {}, bool resume = false) const {
    more.push_back("output.folder=" + (folder_ / name).string());
    return {.overrides = std::move(more), .resume = resume};
  }
  std::filesystem::path file() const { return folder_ / "run.toml"; }
  std::string weights(const std::string& name) const {
    return file_content(folder_ / name / "latest/model.safetensors");
  }
  testing::TemporaryFolder folder_;
};

TEST_F(PublicTraining, GivesTheBitsOfTheProgramAndReportsEachStep) {
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const auto program = testing::run_program({"train", "run.toml", "-q"}, folder_.path());
  ASSERT_EQ(program.exit_code, 0) << program.err;
  std::vector<TrainingStep> steps;
  std::vector<TrainingValidation> validations;
  std::string notes;
  TrainingCallbacks callbacks;
  callbacks.step = [&](const TrainingStep& step) { steps.push_back(step); };
  callbacks.validation = [&](const TrainingValidation& validation) { validations.push_back(validation); };
  callbacks.note = [&](std::string_view text) { (notes += text) += "\n"; };
  Training training(file(), to("own"), callbacks);
  EXPECT_EQ(training.result().steps, 0);
  const TrainingResult result = training.run();
  EXPECT_EQ(weights("own"), weights("run"));
  EXPECT_EQ(result.steps, 40);
  EXPECT_TRUE(result.ended);
  EXPECT_FALSE(result.cancelled);
  EXPECT_EQ(result.folder, folder_ / "own");
  ASSERT_EQ(steps.size(), 40u);
  EXPECT_EQ(steps.back().step, 40);
  EXPECT_LT(steps.back().loss, steps.front().loss);
  EXPECT_GT(steps.back().tokens, 0);
  EXPECT_GT(steps.back().learning_rate, 0.0);
  EXPECT_DOUBLE_EQ(steps.back().share, 1.0);
  ASSERT_EQ(validations.size(), 5u);  // at steps 10, 20, 30 and 40, and one of the averaged weights
  EXPECT_TRUE(validations.back().averaged);
  EXPECT_NE(notes.find("parameters"), std::string::npos) << notes;
  EXPECT_TRUE(std::isfinite(result.best));
  EXPECT_FALSE(result.metric.empty());
  EXPECT_FALSE(load(result.folder).translate("one two").empty());
  EXPECT_FALSE(training.step()) << "an ended run stays ended";
}

TEST_F(PublicTraining, AStoppedRunIsResumedToTheSameBits) {
  Training(file(), to("whole")).run();
  {
    Training training(file(), to("parts"));
    for (int i = 0; i < 13; ++i) ASSERT_TRUE(training.step());
    training.stop();
    EXPECT_FALSE(training.step());
    EXPECT_TRUE(training.result().cancelled);
    EXPECT_FALSE(training.result().ended);
    EXPECT_EQ(training.result().steps, 13);
  }
  int seen = 0;
  TrainingCallbacks callbacks;
  callbacks.step = [&](const TrainingStep& step) { seen = static_cast<int>(step.step); };
  callbacks.cancelled = [&] { return seen == 27; };
  const TrainingResult second = Training(file(), to("parts", {}, true), callbacks).run();
  EXPECT_TRUE(second.cancelled);
  EXPECT_EQ(second.steps, 27);
  EXPECT_TRUE(Training(file(), to("parts", {}, true)).run().ended);
  EXPECT_EQ(weights("parts"), weights("whole"));
}

TEST_F(PublicTraining, RefusesMisuse) {
  EXPECT_REGARD_ERROR(Training("nowhere.toml"), ErrorKind::io, "nowhere.toml");
  EXPECT_REGARD_ERROR(Training(file(), to("x", {"training.max_stepz=3"})), ErrorKind::usage, "max_steps");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  TrainingCallbacks callbacks;
  callbacks.step = [](const TrainingStep& step) {
    if (step.step == 2) throw std::runtime_error("of the callback");
  };
  std::optional<Training> training;
  training.emplace(file(), to("failed"), callbacks);
  EXPECT_TRUE(training->step());
  EXPECT_THROW(training->step(), std::runtime_error);
  EXPECT_REGARD_ERROR(training->step(), ErrorKind::usage, "has failed");
  callbacks.step = [&](const TrainingStep& step) {
    EXPECT_EQ(training->result().steps, step.step);
    EXPECT_REGARD_ERROR(training->step(), ErrorKind::usage, "callback");
    training->stop();
  };
  training.emplace(file(), to("within"), callbacks);
  EXPECT_TRUE(training->run().cancelled);
  EXPECT_REGARD_ERROR(Training(file(), to("within")), ErrorKind::usage, "is writing to the folder");

  Training taken = std::move(*training);
  EXPECT_EQ(taken.result().steps, 1);
  const std::string empty = "this Training was moved from";
  EXPECT_REGARD_ERROR(training->step(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(training->run(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(training->result(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(training->stop(), ErrorKind::usage, empty);
}

TEST_F(PublicTraining, DivergenceIsNumeric) {
  Training training(file(), to("wild", {"training.learning_rate=1e5", "training.warmup_steps=0",
                                        "training.max_steps=80", "training.schedule=constant",
                                        "validation.every_steps=0", "training.average_last=0"}));
  EXPECT_REGARD_ERROR(training.run(), ErrorKind::numeric, "step");
}

TEST_F(PublicTraining, PlanWritesNothingAndKeysAreThoseOfTheProgram) {
  const std::string plan = training_plan(file(), to("planned").overrides);
  EXPECT_NE(plan.find("parameters"), std::string::npos) << plan;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "planned"));
  EXPECT_NE(training_keys().find("learning_rate"), std::string::npos);
}

// Four threads call step() of one shared run, while each of them also trains its own run.
TEST_F(PublicTraining, FourThreadsShareARun) {
  const std::vector<std::string> brief{"training.max_steps=12", "training.average_last=0"};
  Training(file(), to("alone", brief)).run();
  for (const int threads : {1, 2}) {
    const testing::ThreadsDuring during(threads);
    const std::string shared = "shared" + std::to_string(threads);
    Training training(file(), to(shared, brief));
    testing::on_four_threads([&](int thread) {
      const std::string own = shared + std::to_string(thread);
      EXPECT_EQ(Training(file(), to(own, brief)).run().steps, 12);
      EXPECT_EQ(weights(own), weights("alone"));
      while (training.step()) EXPECT_LE(training.result().steps, 12);
    });
    EXPECT_EQ(training.result().steps, 12);
    EXPECT_EQ(weights(shared), weights("alone"));
  }
}

}  // namespace
}  // namespace regard::testing
