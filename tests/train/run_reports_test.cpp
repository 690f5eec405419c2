// What a run reports to its listener and writes to its log: sums over micro-batches, means over steps, the
// fraction of the run, and nothing after its end.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/temporary_folder.h"
#include "tiny_task.h"
#include "train/run.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

struct Recorder : Listener {
  std::vector<std::string> notes;
  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;
  void note(const std::string& text) override { notes.push_back(text); }
  void step(const StepReport& report) override { steps.push_back(report); }
  void validation(const ValidationReport& report) override { validations.push_back(report); }
};

class RunReports : public ::testing::Test {
 protected:
  RunReports() { testing_task::write_run(folder_.path()); }
  RunConfig config(std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), {"output.folder=" + (folder_ / "run").string(),
                                       "training.average_last=0", "validation.samples=0"});
    return read_run((folder_ / "run.toml").string(), overrides);
  }
  RunResult run(const std::vector<std::string>& overrides) {
    const RunConfig settings = config(overrides);
    return run_training(settings, pool_, recorder_, false);
  }
  std::vector<Json> log() {
    std::vector<Json> lines;
    for (const std::string& line :
         regard::testing::lines_of(regard::testing::file_content(folder_ / "run/log.jsonl")))
      lines.push_back(Json::parse(line));
    return lines;
  }
  const regard::testing::TemporaryFolder folder_;
  ThreadPool pool_{1};
  Recorder recorder_;
};

TEST_F(RunReports, AStepCountsAllItsMicroBatches) {
  const RunConfig settings = config({"training.accumulate=3"});
  TrainingContext context(settings, pool_);
  const StepResult step = context.trainer->compute_gradients();
  const std::span<const Batch> batches = context.trainer->batches();
  ASSERT_EQ(batches.size(), 3u);
  StepResult sum;
  for (const Batch& batch : batches) {
    sum.sequences += batch.sequences();
    sum.target_tokens += std::ssize(batch.labels);
    sum.tokens += std::ssize(batch.ids);
    sum.source_tokens += std::ssize(batch.source_ids);
  }
  EXPECT_EQ(step.sequences, sum.sequences);
  EXPECT_EQ(step.target_tokens, sum.target_tokens);
  EXPECT_EQ(step.tokens, sum.tokens);
  EXPECT_EQ(step.source_tokens, sum.source_tokens);
  EXPECT_EQ(step.weight, static_cast<double>(sum.target_tokens));
  EXPECT_EQ(step.step, 1);
}

// A line of the log has the mean loss of its steps, weighted by the number of their target tokens. The mean
// begins again after a line and after a validation.
TEST_F(RunReports, TheLogHasTheMeanLossOfItsSteps) {
  run({"training.max_steps=8", "output.log_every_steps=3", "validation.every_steps=4",
       "output.checkpoint_every_steps=0"});
  ASSERT_EQ(recorder_.steps.size(), 8u);
  const auto mean = [&](std::size_t first, std::size_t last) {
    double loss = 0, weight = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const StepResult& step = recorder_.steps[i - 1].result;
      loss += step.loss * step.weight, weight += step.weight;
    }
    return loss / weight;
  };
  std::vector<std::int64_t> steps;
  for (const Json& line : log()) {
    if (!line.contains("learning_rate")) continue;
    const auto step = line["step"].get<std::size_t>();
    steps.push_back(static_cast<std::int64_t>(step));
    const StepReport& report = recorder_.steps[step - 1];
    EXPECT_NEAR(line["loss"].get<double>(), step == 3 ? mean(1, 3) : mean(5, 6), 1e-9);
    EXPECT_EQ(line["learning_rate"], report.result.learning_rate);
    EXPECT_EQ(line["gradient_norm"], report.result.gradient_norm);
    EXPECT_EQ(line["epochs"], report.epochs);
    EXPECT_EQ(line["trained_seconds"], report.seconds);
    EXPECT_EQ(line["tokens_per_s"], report.tokens_per_second);
    EXPECT_EQ(line["skipped_steps"], 0);
    EXPECT_GT(report.tokens_per_second, 0);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 6}));
}

TEST_F(RunReports, TheFractionIsThatOfTheNearestLimit) {
  run({"training.max_steps=4"});
  std::vector<double> fractions;
  for (const StepReport& report : recorder_.steps) fractions.push_back(report.fraction);
  EXPECT_EQ(fractions, (std::vector<double>{0.25, 0.5, 0.75, 1.0}));
  std::filesystem::remove_all(folder_ / "run");
  recorder_ = {};
  run({"training.max_steps=0", "training.max_epochs=0.3"});
  ASSERT_GE(recorder_.steps.size(), 2u);
  for (const StepReport& report : recorder_.steps)
    EXPECT_EQ(report.fraction, std::min(1.0, report.epochs / 0.3));
  EXPECT_LT(recorder_.steps[0].fraction, 1.0);
  EXPECT_EQ(recorder_.steps.back().fraction, 1.0);
  std::filesystem::remove_all(folder_ / "run");
  recorder_ = {};
  run({"training.max_steps=1000", "training.max_epochs=0.3", "training.max_minutes=1e6"});
  EXPECT_EQ(recorder_.steps[0].fraction, std::min(1.0, recorder_.steps[0].epochs / 0.3));
}

TEST_F(RunReports, ARunThatHasEndedDoesNothingMore) {
  const RunConfig settings = config({"training.max_steps=2", "validation.every_steps=1"});
  TrainingRun training(settings, pool_, recorder_, false);
  while (training.advance()) {
  }
  const std::size_t notes = recorder_.notes.size(), validations = recorder_.validations.size();
  EXPECT_EQ(validations, 2u);
  EXPECT_EQ(recorder_.notes.back(), "the run ends at step 2: max_steps");
  EXPECT_FALSE(training.advance());
  EXPECT_EQ(recorder_.steps.size(), 2u);
  EXPECT_EQ(recorder_.notes.size(), notes);
  EXPECT_EQ(recorder_.validations.size(), validations);
  const RunResult result = training.result();
  EXPECT_EQ(result.steps, 2);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.folder, folder_ / "run");
  const std::size_t best = recorder_.validations[1].loss < recorder_.validations[0].loss ? 1 : 0;
  EXPECT_EQ(result.best_step, static_cast<std::int64_t>(best) + 1);
  EXPECT_EQ(result.best, recorder_.validations[best].loss);
}

TEST_F(RunReports, AResumedRunNamesItsStepAndWhatHasChanged) {
  run({"training.max_steps=2"});
  recorder_ = {};
  const RunConfig settings = config({"training.max_steps=3"});
  EXPECT_EQ(run_training(settings, pool_, recorder_, true).steps, 3);
  std::vector<std::string> beginnings;
  for (const std::string& note : recorder_.notes) {
    EXPECT_NE(note, "");
    if (note.starts_with("resumed ") || note.starts_with("changed: "))
      beginnings.push_back(note.substr(0, note.find(" (")));
  }
  EXPECT_EQ(beginnings, (std::vector<std::string>{"resumed at step 2", "changed: training.max_steps 2 → 3"}));
  EXPECT_EQ(recorder_.notes.back(), "the run ends at step 3: max_steps");
}

TEST_F(RunReports, WithoutAValidationThereIsNoBest) {
  struct Stopping : Recorder {
    bool stop() override { return true; }
  } listener;
  const RunConfig settings = config({"training.max_steps=2"});
  const RunResult result = run_training(settings, pool_, listener, false);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.best_step, -1);
  EXPECT_TRUE(std::isnan(result.best));
}

}  // namespace
}  // namespace regard::train
