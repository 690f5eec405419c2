// A tiny training run in which one file call fails: the program is killed, or the call reports an I/O error
// or a full disk. After its first checkpoint, the run folder always has the latest and the best checkpoint;
// the resumed run gives the same bits and leaves no temporary files.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>
#include <tuple>

#include "faults/train_task.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

constexpr std::size_t kTrainCallsTried = 100;
constexpr std::size_t kParts = 4;  // number of tests among which the calls are divided

// the kind of fault, and which of the kParts parts of the calls
using FaultPart = std::tuple<const char*, std::size_t>;

class TrainFaults : public TrainTask, public ::testing::WithParamInterface<FaultPart> {};

TEST_P(TrainFaults, LeaveWholeCheckpointsAndResumeToTheSameBits) {
  const std::size_t count = count_calls(kTrain, fresh("alone"), folder_ / "log");
  ASSERT_GT(count, 100u);
  const auto undisturbed = bits_of(folder_ / "alone" / "run");
  const auto [kind, part] = GetParam();
  std::set<std::string>
      resumed_states;  // many faults leave the same state, from which the run is resumed once
  for (const std::size_t call : chosen_calls(count, kTrainCallsTried, part, kParts)) {
    const std::string fault = std::string(kind) + ":" + std::to_string(call);
    const fs::path place = fresh(std::to_string(call));
    expect_clean_ending(run_with_fault(kTrain, place, fault), fault);
    expect_latest_and_best(place / "run", fault);
    if (resumed_states.insert(state_of(place)).second) {
      const ProgramResult resumed = run_program(kTrain, place);
      ASSERT_EQ(resumed.exit_code, 0) << fault << ": " << resumed.err;
      EXPECT_EQ(leftovers(place), std::vector<std::string>()) << fault;
      EXPECT_TRUE(bits_of(place / "run") == undisturbed) << fault;
    }
    fs::remove_all(place);
    if (HasFailure()) break;
  }
}

class PruneFaults : public TrainTask, public ::testing::WithParamInterface<const char*> {};

// If a file call of `regard prune` fails, the latest and the best checkpoint are kept. Running it again
// without a fault removes the checkpoints that should be removed.
TEST_P(PruneFaults, KeepTheLatestAndTheBest) {
  const std::vector<std::string> prune{"prune", "run"};
  std::vector<std::string> train = kTrain;
  train.insert(train.end(), {"--set", "output.keep=5"});
  const fs::path trained = fresh("trained");
  ASSERT_EQ(run_program(train, trained).exit_code, 0);
  const auto copy = [&](const std::string& name) {
    fs::copy(trained, folder_ / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return folder_ / name;
  };
  const std::size_t count = count_calls(prune, copy("alone"), folder_ / "log");
  ASSERT_GT(count, 20u);
  const auto pruned = bits_of(folder_ / "alone/run");
  ASSERT_LT(pruned.size(), bits_of(trained / "run").size());
  for (std::size_t call = 1; call <= count && !HasFailure(); ++call) {
    const std::string fault = std::string(GetParam()) + ":" + std::to_string(call);
    const fs::path place = copy(fault);
    expect_clean_ending(run_with_fault(prune, place, fault), fault);
    expect_latest_and_best(place / "run", fault);
    EXPECT_EQ(run_program(prune, place).exit_code, 0) << fault;
    EXPECT_TRUE(bits_of(place / "run") == pruned) << fault;
    EXPECT_EQ(leftovers(place), std::vector<std::string>()) << fault;
    fs::remove_all(place);
  }
}

// If the file system cannot exchange two names, a checkpoint of the same step is replaced with two renames.
TEST_F(TrainTask, ReplacesACheckpointWithoutExchange) {
  const fs::path place = fresh("run");
  ASSERT_EQ(run_with_fault(kTrain, place, "no-exchange:0").exit_code, 0);
  const auto before = bits_of(place / "run");
  // Damage the newest checkpoints: training resumes from an earlier one and writes them again.
  for (const char* step : {"4", "5"})
    fs::resize_file(place / "run/checkpoints" / step / "model.safetensors", 10);
  const ProgramResult again = run_with_fault(kTrain, place, "no-exchange:0");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(bits_of(place / "run") == before);
  EXPECT_EQ(leftovers(place), std::vector<std::string>());
}

// A file becomes unreadable while the run is resumed: first its settings, then its corpora. The error names
// the file, and the checkpoints do not change.
TEST_F(TrainTask, AnUnreadableFileIsNamedAndTheRunGoesOnAfterRepair) {
  std::vector<std::string> uncached = kTrain;
  uncached.insert(uncached.end(), {"--set", "data.cache=never", "--set", "training.average_last=0"});
  std::vector<std::string> half = uncached;
  half.insert(half.end(), {"--set", "training.max_steps=2"});
  ASSERT_EQ(run_program(uncached, fresh("alone")).exit_code, 0);
  const auto undisturbed = bits_of(folder_ / "alone" / "run");
  const fs::path begun = fresh("begun");
  ASSERT_EQ(run_program(half, begun).exit_code, 0);
  const auto before = bits_of(begun / "run");
  bool read_all = false, corpus = false;
  const int stride = tries_all_calls() ? 1 : 3;
  for (int number = 1; !read_all && number < 200; number += number < 4 ? 1 : stride) {
    const fs::path place = fresh(std::to_string(number));
    fs::remove_all(place);
    fs::copy(begun, place, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const ProgramResult result = run_with_fault(uncached, place, "unreadable:" + std::to_string(number));
    read_all = result.exit_code == 0;
    if (!read_all) {
      EXPECT_EQ(result.exit_code, 4) << number << ": " << result.err;
      EXPECT_NE(result.err.find("cannot read"), std::string::npos) << result.err;
      EXPECT_TRUE(bits_of(place / "run") == before) << number;
      corpus = corpus || result.err.find("train.") != std::string::npos;
    }
    ASSERT_EQ(run_program(uncached, place).exit_code, 0) << number;
    EXPECT_TRUE(bits_of(place / "run") == undisturbed) << number;
    fs::remove_all(place);
    if (HasFailure()) break;
  }
  EXPECT_TRUE(read_all);
  EXPECT_TRUE(corpus) << "no read of a corpus failed";
}

// A mapped file of token ids becomes shorter during training, as if its disk had failed. The run ends with a
// message instead of an unexplained signal, and the resumed run makes the cache again.
TEST_F(TrainTask, AMappedFileThatCannotBeReadEndsTheRunWithAMessage) {
  const fs::path place = fresh("mapped");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int log = ::open((place / "err").c_str(), O_CREAT | O_WRONLY, 0666);
    if (chdir(place.c_str()) != 0 || dup2(log, 2) != 2) _exit(126);
    execl(program_path(), "regard", "train", "run.toml", "-q", "-t", "1", "--set",
          "training.max_steps=10000000", "--set", "training.average_last=0", "--set",
          "validation.every_steps=0", nullptr);
    _exit(127);
  }
  std::error_code none;
  for (int i = 0; i < 3000 && !fs::exists(place / "run/latest", none); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const auto& entry : fs::recursive_directory_iterator(place / "token-cache"))
    if (entry.path().extension() == ".ids") fs::resize_file(entry.path(), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const std::string text = file_content(place / "err");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 4) << status << ": " << text;
  EXPECT_NE(text.find(".ids: a part of the file cannot be read"), std::string::npos) << text;
  EXPECT_NE(text.find("--resume"), std::string::npos) << text;
  const std::int64_t step = std::stoll(fs::read_symlink(place / "run/latest").filename().string());
  const ProgramResult again =
      run_program({"train", "run.toml", "--resume", "-t", "1", "--set", "training.average_last=0", "--set",
                   "validation.every_steps=0", "--set", "training.max_steps=" + std::to_string(step + 2)},
                  place);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("the cache is damaged"), std::string::npos) << again.err;
}

INSTANTIATE_TEST_SUITE_P(Each, TrainFaults,
                         ::testing::Combine(::testing::Values("kill", "io", "broken", "full"),
                                            ::testing::Range(std::size_t{0}, kParts)),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param)) +
                                  std::to_string(std::get<1>(row.param));
                         });

INSTANTIATE_TEST_SUITE_P(Each, PruneFaults, ::testing::Values("kill", "io", "broken", "full"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace regard::testing
