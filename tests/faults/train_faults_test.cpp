// A tiny training run in which one file call fails: the program is killed, an I/O error, a full disk. From
// its first checkpoint, the run folder always contains the latest and the best checkpoint. The resumed run
// ends with the same bits as a run without faults and leaves no temporary files.
#include <map>

#include "base/json.h"
#include "faults/faulty_program.h"
#include "formats/checkpoint.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTrainCallsTried = 100;

const std::vector<std::string> kTrain{"train", "run.toml", "-t", "1", "--resume"};

void write_task(const fs::path& folder) {
  std::string source, target;
  for (int i = 0; i < 8; ++i) source += "one two\nthree\n", target += "zwei eins\ndrei\n";
  for (const char* name : {"train", "valid"}) {
    write_file(folder, std::string(name) + ".en", source);
    write_file(folder, std::string(name) + ".de", target);
  }
  write_file(folder, "run.toml", R"(task = "translation"
seed = 3
[data]
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
cache = "always"
[tokenizer]
type = "char"
[model]
encoder_layers = 1
decoder_layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
dropout = 0.1
[training]
learning_rate = 1e-2
batch_tokens = 24
max_steps = 4
average_last = 2
[validation]
every_steps = 2
metrics = ["loss"]
samples = 0
[output]
folder = "run"
checkpoint_every_steps = 1
log_every_steps = 2
keep = 1
)");
}

// Return the files of every checkpoint and the targets of the links.
std::map<std::string, std::string> bits_of(const fs::path& run) {
  std::map<std::string, std::string> bits;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "tokenizer.json"})
      bits[name + "/" + file] = file_content(entry.path() / file);
  }
  for (const char* link : {"latest", "best"}) bits[link] = fs::read_symlink(run / link).string();
  return bits;
}

bool has_checkpoint(const fs::path& run) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", none))
    if (!is_leftover(entry.path())) return true;
  return false;
}

// A reader finds the latest and the best checkpoint complete, and the best is the one named in the latest
// state.json.
void expect_latest_and_best(const fs::path& run, const std::string& fault) {
  if (!has_checkpoint(run)) return;
  const auto folder = formats::RunFolder::open(run);
  const auto latest = folder.latest(), best = folder.best();
  ASSERT_TRUE(latest && best) << fault;
  EXPECT_EQ(latest->warning + best->warning, "") << fault;
  const Json state = read_json((latest->folder / "state.json").string());
  if (state["best_step"] != 0) {
    EXPECT_EQ(best->step, state["best_step"].get<std::int64_t>()) << fault;
  }
}

class TrainTask : public ::testing::Test {
 protected:
  fs::path fresh(const std::string& name) const {
    fs::create_directory(folder_ / name);
    write_task(folder_ / name);
    return folder_ / name;
  }
  TemporaryFolder folder_;
};
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
