// If a file call fails, an output file is either the old one or complete, and a new output folder is either
// absent or complete. Running the program again gives the complete output and removes temporary files.
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "faults/train_task.h"
#include "formats/safetensors.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

constexpr std::size_t kCallsTried = 12;  // calls tried for each kind of fault

struct OutputCase {
  std::string name;
  // Arguments of the program. Its working folder has the files "text" and "inputs", and the run folder "run"
  // if "run" is an argument.
  std::vector<std::string> arguments;
  bool replaces = true;  // true: the output replaces an old file; false: it is a new folder
  // true: fork one process for all faults, because the program computes long before its first file call
  bool forks = false;
};

void PrintTo(const OutputCase& row, std::ostream* out) {
  *out << row.name;
}

std::vector<OutputCase> cases() {
  const std::string bert = golden("hf-tiny/bert").string(), sentences = golden("hf-more/st-mean").string();
  return {{"Quantize", {"quantize", bert, "-o", "output", "-q"}, false},
          {"DemoExport", {"demo", "--export", "output", "-q"}, false, true},
          {"Convert", {"convert", sentences, "output", "--dtype", "bf16", "-q"}, false},
          {"ConvertRun", {"convert", "run", "output", "-q"}, false},
          {"Report", {"report", "run", "-o", "output", "-q"}},
          {"Run", {"run", bert, "-i", "inputs", "-o", "output", "-q"}},
          {"Study", {"study", "run", "text", "--csv", "output", "-t", "1", "-q"}},
          {"Evaluate", {"evaluate", "run", "text", "text", "-o", "output", "-t", "1", "-q"}},
          {"Embed", {"embed", sentences, "text", "-o", "output", "-q"}},
          {"Transcribe",
           {"transcribe", golden("sound/whisper-small").string(),
            golden("sound/whisper-small/short.wav").string(), "-o", "output", "-q"}},
          {"Attend", {"embed", sentences, "text", "--attend", "output", "-q"}},
          {"Tokenizer", {"tokenizer", "train", "--type", "char", "-o", "output", "text", "-q"}},
          {"Vectors",
           {"vectors", "train", "text", "-o", "output", "--size", "4", "--min-count", "1", "-t", "1", "-q"}}};
}

using OutputFault = std::tuple<OutputCase, const char*>;  // the case, the kind of fault

class OutputFaults : public ::testing::TestWithParam<OutputFault> {
 protected:
  void SetUp() override {
    if (!reads_run()) return;
    fs::create_directory(folder_ / "trained");
    write_task(folder_ / "trained");
    // Write one checkpoint only. With several, an unreadable best checkpoint is replaced by another one with
    // a warning.
    std::vector<std::string> train = kTrain;
    train.insert(train.end(), {"--set", "training.average_last=0", "--set", "validation.every_steps=4"});
    ASSERT_EQ(run_program(train, folder_ / "trained").exit_code, 0);
  }
  bool reads_run() const {
    const auto& arguments = std::get<0>(GetParam()).arguments;
    return std::find(arguments.begin() + 1, arguments.end(), "run") != arguments.end();
  }
  fs::path fresh(const std::string& name) const {
    const fs::path place = folder_ / name;
    fs::create_directory(place);
    write_file(place, "text", "one two three\none two\nthree\n");
    Tensor ids = Tensor::empty({1, 3}, DType::i64);
    std::iota(ids.i64(), ids.i64() + 3, 4);
    formats::write_safetensors(place / "inputs", std::vector<formats::NamedTensor>{{"input_ids", ids}});
    if (std::get<0>(GetParam()).replaces) write_file(place, "output", "old\n");
    if (reads_run())
      fs::copy(folder_ / "trained/run", place / "run",
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return place;
  }
  static void expect_whole(const fs::path& place, const std::map<std::string, std::string>& whole,
                           const std::string& fault) {
    EXPECT_TRUE(content_of(place / "output") == whole) << fault;
    EXPECT_EQ(leftovers(place), std::vector<std::string>()) << fault;
  }
  TemporaryFolder folder_;
};

TEST_P(OutputFaults, LeaveTheOldOrTheNewAndRunningAgainMends) {
  const auto& [row, kind] = GetParam();
  const std::size_t count = count_calls(row.arguments, fresh("alone"), folder_ / "log");
  ASSERT_GT(count, 3u);
  const auto whole = content_of(folder_ / "alone" / "output");
  std::vector<Trial> trials;
  for (const std::size_t call : chosen_calls(count, kCallsTried)) {
    const std::string fault = std::string(kind) + ":" + std::to_string(call);
    trials.push_back({fault, fresh(fault)});
  }
  const auto old = content_of(trials[0].place / "output");
  if (row.forks) run_forked(row.arguments, fresh("forked"), trials, folder_.path());
  std::set<std::string> mended;  // the repaired states; many faults leave the same state
  std::vector<Trial> repeated;   // runs without a fault, in folders that a fault left
  for (auto& [fault, place, exit_code] : trials) {
    if (!row.forks) {
      const ProgramResult result = run_with_fault(row.arguments, place, fault);
      exit_code = result.exit_code;
      expect_clean_ending(result, fault);
    }
    expect_clean_ending(exit_code, fault);
    const auto left = content_of(place / "output");
    EXPECT_TRUE(left == old || left == whole) << fault;
    EXPECT_TRUE(exit_code != 0 || left == whole) << fault;
    const bool is_new = mended.insert(state_of(place)).second;
    // The program does not run again if the new folder is complete, because it refuses to overwrite a folder.
    const bool again = is_new && (row.replaces || left.empty());
    if (again && row.forks) {
      repeated.push_back({"none:0", place});
      continue;
    }
    EXPECT_TRUE(!again || run_program(row.arguments, place).exit_code == 0) << fault;
    if (is_new) expect_whole(place, whole, fault);
    fs::remove_all(place);
    if (HasFailure()) return;
  }
  if (repeated.empty()) return;
  fs::create_directory(folder_ / "scratch");
  run_forked(row.arguments, fresh("forked again"), repeated, folder_ / "scratch");
  for (const Trial& trial : repeated) {
    EXPECT_EQ(trial.exit_code, 0) << trial.place;
    expect_whole(trial.place, whole, trial.place.filename());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, OutputFaults,
                         ::testing::Combine(::testing::ValuesIn(cases()),
                                            ::testing::Values("kill", "io", "broken", "full")),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + "_" + std::get<1>(row.param);
                         });

}  // namespace
}  // namespace regard::testing
