// Runs are killed at random instants and resumed, repeatedly. The final weights equal the weights of a run
// that was never killed; `make test` makes a few kills, `make check-kills` makes 200.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "formats/checkpoint.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 3;  // kills per task in `make test`

// The name of a case, and its run file for the corpora of train/tiny_task.h.
struct KillCase {
  std::string name, settings;
};

void PrintTo(const KillCase& row, std::ostream* out) {
  *out << row.name;
}

constexpr const char* kCommon = R"(hidden_size = 16
heads = 2
feed_forward_size = 32
dropout = 0.1
[training]
learning_rate = 1e-2
max_steps = 200
average_last = 2
)";
constexpr const char* kEnd = R"(
[output]
folder = "run"
checkpoint_every_steps = 3
log_every_steps = 5
keep = 2
)";

constexpr const char* kTranslation = R"(task = "translation"
[data]
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
cache = "always"
[tokenizer]
type = "char"
[model]
encoder_layers = 1
decoder_layers = 1
)";
constexpr const char* kLanguageModel = R"(task = "language-model"
[data]
train = ["train.en"]
valid = ["valid.en"]
[tokenizer]
type = "char"
[model]
layers = 1
)";
constexpr const char* kClassification = R"(task = "classification"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [2, 1]
max_length = 16
[tokenizer]
type = "wordpiece"
vocab_size = 60
[model]
family = "bert"
layers = 1
)";
constexpr const char* kLora = R"(task = "classification"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [2, 1]
max_length = 16
[model]
from = "BERT"
[lora]
rank = 2
[training]
learning_rate = 1e-2
max_steps = 200
batch_size = 8
[validation]
every_steps = 20)";

const std::vector<KillCase>& kill_cases() {
  static const std::vector<KillCase> all{
      {"Translation", std::string(kTranslation) + kCommon +
                          "batch_tokens = 60\naccumulate = 2\n[validation]\nevery_steps = 20\n"
                          "metrics = [\"loss\", \"bleu\"]\nsamples = 0" +
                          kEnd},
      {"LanguageModel", std::string(kLanguageModel) + kCommon +
                            "batch_size = 4\ncontext = 16\nema_decay = 0.9\n[validation]\n"
                            "every_steps = 20\nsamples = 0" +
                            kEnd},
      {"Classification",
       std::string(kClassification) + kCommon + "batch_size = 8\n[validation]\nevery_steps = 20" + kEnd},
      {"Lora", std::string(kLora) + kEnd}};
  return all;
}

void write_task(const fs::path& folder, const KillCase& row) {
  train::testing_task::write_corpora(folder);
  for (const char* name : {"train", "valid"}) {
    std::string rows;
    for (const std::string& line : lines_of(file_content(folder / (std::string(name) + ".en"))))
      rows += (line.size() > 12 ? "long\t" : "short\t") + line + "\n";
    write_file(folder, std::string(name) + ".tsv", rows);
  }
  std::string settings = row.settings;
  const std::string base = "BERT";
  if (const std::size_t at = settings.find(base); at != std::string::npos)
    settings.replace(at, base.size(), golden("hf-more/st-mean").string());
  write_file(folder, "run.toml", settings);
}

const std::vector<std::string> kResumed{"train", "run.toml", "--resume", "-q", "-t", "1"};

// The content of the weights, adapters, optimiser states and links of all checkpoints.
std::map<std::string, std::string> bits_of_run(const fs::path& run) {
  std::map<std::string, std::string> bits;
  for (const auto& entry : fs::recursive_directory_iterator(run / "checkpoints"))
    if (entry.path().extension() == ".safetensors")
      bits[fs::relative(entry.path(), run).string()] = file_content(entry.path());
  for (const char* link : {"latest", "best"}) bits[link] = fs::read_symlink(run / link).string();
  return bits;
}

int kills() {
  const char* wanted = std::getenv("REGARD_KILLS");
  return wanted == nullptr ? kKills : std::atoi(wanted);
}

class Kills : public ::testing::TestWithParam<KillCase> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(Kills, AreResumedToTheBitsOfARunWithoutThem) {
  write_task(folder_.path(), GetParam());
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult alone = run_program(kResumed, folder_.path());
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  const auto expected = bits_of_run(folder_ / "run");
  fs::remove_all(folder_ / "run");
  RandomStream random({17, 0, 0});
  int finished = 0;
  for (int kill = 0; kill < kills();) {
    // Half of the kills happen at any time of the run, half soon after the start, when files are read and
    // repaired.
    const auto most = static_cast<std::uint64_t>(whole.count()) / (random.next_below(2) == 0 ? 1 : 8) + 1000;
    const std::chrono::microseconds after{static_cast<std::int64_t>(random.next_below(most))};
    bool killed = false;
    const ProgramResult result = run_interrupted(kResumed, folder_.path(), {SIGKILL, after}, "", &killed);
    if (result.exit_code == 0) {
      EXPECT_TRUE(bits_of_run(folder_ / "run") == expected) << "after " << kill << " kills";
      fs::remove_all(folder_ / "run");
      ++finished;
      ASSERT_LT(finished, 10 * kills() + 10) << "the kills come too late";
      continue;
    }
    ASSERT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    ++kill;
    if (!formats::RunFolder::is_run_folder(folder_ / "run")) continue;
    const auto run = formats::RunFolder::open(folder_ / "run");
    const auto latest = run.latest(), best = run.best();  // both throw if no checkpoint is complete
    if (latest) {
      EXPECT_EQ(latest->warning + best->warning, "") << "after " << kill << " kills";
    }
  }
  const ProgramResult last = run_program(kResumed, folder_.path());
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(bits_of_run(folder_ / "run") == expected);
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
    EXPECT_FALSE(is_leftover(entry.path())) << entry.path();
}

INSTANTIATE_TEST_SUITE_P(Each, Kills, ::testing::ValuesIn(kill_cases()),
                         [](const auto& row) { return row.param.name; });

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Return the seconds of processor time that the main thread of a process has used.
double processor_seconds(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  double nanoseconds = 0.0;
  file >> nanoseconds;
  return 1e-9 * nanoseconds;
}

// Start a run whose steps take minutes, wait until its first step has begun, and return its process id.
pid_t start_slow_run(const fs::path& folder) {
  KillCase slow = kill_cases()[1];
  const auto replace = [&slow](const std::string& old, const std::string& by) {
    slow.settings.replace(slow.settings.find(old), old.size(), by);
  };
  replace("max_steps = 200", "max_steps = 2\naccumulate = 60000");
  replace("hidden_size = 16", "hidden_size = 128");
  replace("feed_forward_size = 32", "feed_forward_size = 512");
  write_task(folder, slow);
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder.c_str()) != 0) _exit(126);
    execl(program_path(), "regard", "train", "run.toml", "-q", "-t", "1", nullptr);
    _exit(127);
  }
  std::error_code none;
  for (int i = 0; i < 3000 && !(fs::file_size(folder / "run/log.jsonl", none) > 0 && !none); ++i) pause(10);
  // The log file is created before the first step. After another half second of processor time, the step has
  // begun.
  const double begin = processor_seconds(child);
  for (int i = 0; i < 3000 && processor_seconds(child) < begin + 0.5; ++i) pause(10);
  return child;
}

// After a signal, a run abandons a step that takes minutes, saves, and ends within 10 seconds (20 in this
// test, for busy machines). The saved state is that before the step.
TEST(FirstSignal, SavesWithoutWaitingForALongStep) {
  const TemporaryFolder folder;
  const pid_t child = start_slow_run(folder.path());
  ASSERT_GE(child, 0);
  pause(300);
  const Stopwatch watch;
  kill(child, SIGTERM);
  int status = 0;
  bool ended = false;
  while (!ended && watch.seconds() < 60) {
    ended = waitpid(child, &status, WNOHANG) == child;
    pause(10);
  }
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  ASSERT_TRUE(ended);
  EXPECT_LT(watch.seconds(), 20.0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM) << status;
  const Json state = Json::parse(file_content(folder / "run/latest/state.json"));
  EXPECT_EQ(state.at("step"), 0);
  EXPECT_EQ(state.at("position").at("batch"), 0) << state.at("position");
}

// The second signal ends the process, regardless of the duration of the step.
TEST(SecondSignal, EndsATrainingAtOnce) {
  const TemporaryFolder folder;
  bool killed = false;
  const pid_t child = start_slow_run(folder.path());
  ASSERT_GE(child, 0);
  int status = 0;
  kill(child, SIGTERM);
  pause(100);
  kill(child, SIGTERM);  // counted as the first signal, because `timeout` sends the signal twice
  pause(300);
  EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "it ended although the step goes on";
  pause(2000);
  kill(child, SIGTERM);
  for (int i = 0; i < 500 && !killed; ++i) {
    killed = waitpid(child, &status, WNOHANG) == child;
    pause(10);
  }
  if (!killed) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  ASSERT_TRUE(killed);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_TRUE(fs::is_empty(folder / "run/checkpoints"));
}

}  // namespace
}  // namespace regard::testing
