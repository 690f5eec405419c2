// A tiny training run in which one file call fails: the program is killed, or the call reports an I/O error
// or a full disk. From its first checkpoint, the run folder always contains the latest and the best
// checkpoint. The resumed run ends with the same bits as a run without faults and leaves no temporary files.
#include "faults/train_task.h"

namespace regard::testing {
namespace {

constexpr std::size_t kTrainCallsTried = 100;

class TrainFaults : public TrainTask, public ::testing::WithParamInterface<const char*> {};

TEST_P(TrainFaults, LeaveWholeCheckpointsAndResumeToTheSameBits) {
  const std::size_t count = count_calls(kTrain, fresh("alone"), folder_ / "log");
  ASSERT_GT(count, 100u);
  const auto undisturbed = bits_of(folder_ / "alone" / "run");
  for (const std::size_t call : chosen_calls(count, kTrainCallsTried)) {
    const std::string fault = std::string(GetParam()) + ":" + std::to_string(call);
    const fs::path place = fresh(std::to_string(call));
    expect_clean_ending(run_with_fault(kTrain, place, fault), fault);
    expect_latest_and_best(place / "run", fault);
    const ProgramResult resumed = run_program(kTrain, place);
    ASSERT_EQ(resumed.exit_code, 0) << fault << ": " << resumed.err;
    EXPECT_EQ(leftovers(place), std::vector<std::string>()) << fault;
    EXPECT_TRUE(bits_of(place / "run") == undisturbed) << fault;
    fs::remove_all(place);
    if (HasFailure()) break;
  }
}

// If the file system cannot exchange two names, a checkpoint of the same step is replaced with two renames.
TEST_F(TrainTask, ReplacesACheckpointWithoutExchange) {
  const fs::path place = fresh("run");
  ASSERT_EQ(run_with_fault(kTrain, place, "no-exchange:0").exit_code, 0);
  const auto before = bits_of(place / "run");
  // The newest checkpoints are damaged: training resumes from the one before and writes them again.
  for (const char* step : {"4", "5"})
    fs::resize_file(place / "run/checkpoints" / step / "model.safetensors", 10);
  const ProgramResult again = run_with_fault(kTrain, place, "no-exchange:0");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(bits_of(place / "run") == before);
  EXPECT_EQ(leftovers(place), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Each, TrainFaults, ::testing::Values("kill", "io", "full"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace regard::testing
