// The latest state.json of a run names the best checkpoint. If this file is damaged, an earlier best
// checkpoint is used, with a warning.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/checkpoint.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

void save_with_best(const RunFolder& run, std::int64_t step, std::int64_t best) {
  CheckpointWriter writer(run, step);
  writer.add_text("state.json", "{\"best_step\": " + std::to_string(best) + "}\n");
  writer.commit({step == best, 3});
}

TEST(RunFolder, AnUnknownBestIsReported) {
  const testing::TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  for (std::int64_t step = 1; step <= 3; ++step) save_with_best(run, step, step == 1 ? 1 : 2);
  EXPECT_EQ(run.best()->step, 2);
  EXPECT_EQ(run.best()->warning, "");
  write_file_atomically(run.checkpoint_folder(3) / "state.json", "{\"best_step\": 3}\n");
  const Checkpoint best = *run.best();
  EXPECT_EQ(best.step, 2);
  EXPECT_NE(best.warning.find("3/state.json"), std::string::npos) << best.warning;
  EXPECT_NE(best.warning.find("using the checkpoint of step 2"), std::string::npos) << best.warning;
}

TEST(RunFolder, ADamagedBestAndADamagedLatestAreBothReported) {
  const testing::TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  for (std::int64_t step = 1; step <= 3; ++step) save_with_best(run, step, step == 1 ? 1 : 2);
  for (const int step : {2, 3}) {
    CheckpointWriter writer(run, step);
    writer.add_text("state.json", "{\"best_step\": 2}\n");
    writer.add_text("model", "1");
    writer.commit({false, 3});
    write_file_atomically(run.checkpoint_folder(step) / "model", "2");
  }
  const Checkpoint other = *run.best();
  EXPECT_EQ(other.step, 1);
  for (const char* part : {"2/model", "3/model", "using the checkpoint of step 1"})
    EXPECT_NE(other.warning.find(part), std::string::npos) << other.warning;
}

// A run of three checkpoints, of which `best` is the best one and the steps in `damaged` are damaged.
class DamagedRun {
 public:
  DamagedRun(const std::filesystem::path& path, std::int64_t best, const std::vector<std::int64_t>& damaged)
      : run(RunFolder::create(path, "")) {
    for (std::int64_t step = 1; step <= 3; ++step) {
      CheckpointWriter writer(run, step);
      writer.add_text("state.json", "{\"best_step\": " + std::to_string(std::min(best, step)) + "}\n");
      writer.add_text("model", "1");
      writer.commit({step <= best, 3});
    }
    for (const std::int64_t step : damaged) write_file_atomically(run.checkpoint_folder(step) / "model", "2");
  }
  std::string problem(std::int64_t step) const {
    return (run.checkpoint_folder(step) / "model").string() +
           ": the checkpoint is damaged: the file's checksum differs from the manifest";
  }
  RunFolder run;
};

TEST(RunFolder, EachDamagedCheckpointIsNamedOnce) {
  const testing::TemporaryFolder folder;
  const std::string unusable = "the best checkpoint is unusable: ", now = "; using the checkpoint of step ";
  const DamagedRun only(folder / "only", 2, {2});
  EXPECT_EQ(only.run.best()->step, 3);
  EXPECT_EQ(only.run.best()->warning, unusable + only.problem(2) + now + "3");
  EXPECT_EQ(only.run.latest()->warning, "");

  const DamagedRun same(folder / "same", 3, {3});
  EXPECT_EQ(same.run.best()->step, 2);
  EXPECT_EQ(same.run.best()->warning, unusable + same.problem(3) + now + "2");
  EXPECT_EQ(same.run.latest()->warning, same.problem(3) + now + "2");

  const DamagedRun between(folder / "between", 1, {1, 3});
  EXPECT_EQ(between.run.best()->step, 2);
  EXPECT_EQ(between.run.best()->warning,
            unusable + between.problem(1) + "; " + between.problem(3) + now + "2");

  const DamagedRun two(folder / "two", 2, {2, 3});
  EXPECT_EQ(two.run.best()->step, 1);
  EXPECT_EQ(two.run.best()->warning, unusable + two.problem(3) + "; " + two.problem(2) + now + "1");
}

TEST(RunFolder, OnlyFoldersNamedByAStepAreCheckpoints) {
  const testing::TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save_with_best(run, 0, 0);
  save_with_best(run, 12, 12);
  for (const char* name : {"05", "+5", "-5", "5x", "x", " 5"})
    std::filesystem::create_directory(run.path() / "checkpoints" / name);
  write_file_atomically(run.path() / "checkpoints" / "7", "");
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{0, 12}));
  EXPECT_EQ(run.latest()->step, 12);
  EXPECT_REGARD_ERROR(CheckpointWriter(run, -1), ErrorKind::usage,
                      "the step of a checkpoint is negative (expected at least 0, found -1)");
}

}  // namespace
}  // namespace regard::formats
