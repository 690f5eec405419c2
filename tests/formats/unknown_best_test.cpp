// The latest state.json of a run names the best checkpoint. If this file is damaged, an earlier best
// checkpoint is used, with a warning.
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "formats/checkpoint.h"
#include "support/temporary_folder.h"

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

}  // namespace
}  // namespace regard::formats
