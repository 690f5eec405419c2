// Output of a run: on standard error without a terminal, in log.jsonl, in a dry run.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

#include "run_case.h"

namespace regard::train {
namespace {

using namespace std::string_literals;

class Report : public RunCase {};

TEST_F(Report, WithoutATerminalALineComesAtIntervals) {
  ::setenv("REGARD_PROGRESS_SECONDS", "0.000001", 1);
  const ProgramResult often = train({"--set", "training.max_steps=12"});
  fs::remove_all(folder / "run");
  ::setenv("REGARD_PROGRESS_SECONDS", "nonsense", 1);
  const ProgramResult seldom = train({"--set", "training.max_steps=12"});
  ::unsetenv("REGARD_PROGRESS_SECONDS");
  ASSERT_EQ(often.exit_code, 0) << often.err;
  const std::regex line(R"(step 5: loss \d+\.\d+, learning rate 0?\.\d+, \d+\.\dk tokens/s, \d+ s left\n)");
  EXPECT_TRUE(std::regex_search(often.err, line)) << often.err;
  EXPECT_EQ(seldom.err.find("learning rate"), std::string::npos) << seldom.err;
}

// Each line has the mean loss of all steps since the previous line, not only the loss of its own step.
TEST_F(Report, ALineHasTheMeanLossOfItsSteps) {
  ::setenv("REGARD_PROGRESS_SECONDS", "0.02", 1);
  const ProgramResult result = train({"--set", "training.max_steps=100", "--set", "output.log_every_steps=1",
                                      "--set", "validation.every_steps=200"});
  ::unsetenv("REGARD_PROGRESS_SECONDS");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::int64_t, double> losses;
  for (const Json& line : log("run"))
    if (line.contains("tokens_per_s")) losses[line["step"].get<std::int64_t>()] = line["loss"].get<double>();
  std::int64_t before = 0, lines = 0, longest = 0;
  const std::regex pattern(R"(step (\d+): loss (\d+\.\d+), learning rate)");
  for (std::sregex_iterator match(result.err.begin(), result.err.end(), pattern), end; match != end;
       ++match) {
    const std::int64_t step = std::stoll((*match)[1]);
    double lowest = 1e9, highest = 0, sum = 0;
    for (std::int64_t i = before + 1; i <= step; ++i) {
      const double loss = losses.at(i);
      lowest = std::min(lowest, loss), highest = std::max(highest, loss), sum += loss;
    }
    const double shown = std::stod((*match)[2]);
    EXPECT_GE(shown, lowest - 1e-4);
    EXPECT_LE(shown, highest + 1e-4);
    EXPECT_NEAR(shown, sum / static_cast<double>(step - before), 0.05) << "batches have about equal weights";
    longest = std::max(longest, step - before), before = step, ++lines;
  }
  EXPECT_GE(lines, 1) << result.err;
  EXPECT_GT(longest, 1) << "no line covers several steps";
}

TEST_F(Report, TheEndSaysWhatCameOfIt) {
  const ProgramResult result = train({"--json"});
  ASSERT_EQ(result.exit_code, 0);
  const std::int64_t best = linked("run", "best");
  const std::string place = fs::canonical(folder / "run").string();
  EXPECT_EQ(Json::parse(result.out)["best_step"], best == 41 ? 40 : best);
  for (const std::string& part :
       {"best: step "s, ", loss "s, "folder: " + place, "next: regard translate " + place})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_EQ(train({"-q", "--set", "output.folder=quiet"}).err, "");
}

// A failure to write to standard error does not end a run.
TEST_F(Report, AFullScreenDoesNotEndARun) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string command = "cd " + folder.path().string() + " && " + regard::testing::program_path() +
                              " train run.toml 2>/dev/full";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(fs::exists(folder / "run/checkpoints/40"));
  const std::string closed = "cd " + folder.path().string() + " && bash -c 'set -o pipefail; " +
                             regard::testing::program_path() +
                             " train run.toml --set output.folder=piped 2>&1 | head -1 >/dev/null'";
  EXPECT_EQ(std::system(closed.c_str()), 0);
  EXPECT_TRUE(fs::exists(folder / "piped/checkpoints/40"));
}

// Samples of a language model contain line ends; they are escaped, so that each sample is one line.
TEST_F(Report, LineEndsOfSamplesAreEscaped) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "ab\n\ncd\n";
  regard::testing::write_file(folder.path(), "text.txt", text);
  regard::testing::write_file(folder.path(), "lm.toml", R"(
task = "language-model"
[data]
train = ["text.txt"]
valid_fraction = 0.5
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 16
[training]
batch_size = 4
context = 16
max_steps = 5
warmup_steps = 1
[validation]
samples = 2
[output]
folder = "lm"
)");
  const ProgramResult result = run_program({"train", "lm.toml"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("\\n"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("\n\n"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("\ncd"), std::string::npos) << result.err;
}

TEST_F(Report, TheLogSaysWhatWroteItAndWhen) {
  ASSERT_EQ(train({"-t", "2", "--set", "training.max_steps=20"}).exit_code, 0);
  ASSERT_EQ(train({"-t", "1", "--resume", "--set", "training.max_steps=30"}).exit_code, 0);
  const std::regex time(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  std::vector<Json> headers;
  for (const Json& line : log("run")) {
    EXPECT_TRUE(std::regex_match(line["time"].get<std::string>(), time)) << line;
    EXPECT_FALSE(line.contains("seconds")) << line;
    EXPECT_EQ(line.contains("loss"), line.contains("trained_seconds")) << line;
    EXPECT_EQ(line.contains("validation"), line.contains("validation_seconds")) << line;
    if (line.contains("run")) headers.push_back(line);
  }
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_EQ(log("run")[0], headers[0]);
  EXPECT_EQ(headers[0]["run"]["threads"], 2);
  EXPECT_EQ(headers[0]["run"]["resumed"], false);
  EXPECT_EQ(headers[1]["run"]["resumed"], true);
  EXPECT_EQ(headers[1]["step"], 20);
  for (const char* key : {"version", "isa", "settings", "started"})
    EXPECT_FALSE(headers[0]["run"][key].get<std::string>().empty()) << key;
  EXPECT_NE(headers[0]["run"]["settings"], headers[1]["run"]["settings"]);
}

// The first step of a dry run and of training have the same batches, loss and gradient.
TEST_F(Report, TheDryRunShowsTheFirstStep) {
  const std::vector<std::string> each{"--set", "output.log_every_steps=1", "--set", "training.max_steps=1"};
  std::vector<std::string> dry = each;
  dry.push_back("--dry-run");
  const ProgramResult result = train(dry);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(train(each).exit_code, 0);
  double loss = -1, norm = -1;
  for (const Json& line : log("run"))
    if (line.contains("loss") && loss < 0) loss = line["loss"], norm = line["gradient_norm"];
  const std::regex first(
      R"(first step: (\d+) target tokens in \d+ sequences, loss ([\d.]+), gradient norm ([\d.]+))");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(result.out, found, first)) << result.out;
  EXPECT_NEAR(std::stod(found[2]), loss, 6e-5);
  EXPECT_NEAR(std::stod(found[3]), norm, 6e-5);
  const std::regex batch(R"(batch [01]: \d+ sequences, (\d+) target tokens)");
  std::int64_t tokens = 0;
  for (std::sregex_iterator at(result.out.begin(), result.out.end(), batch), end; at != end; ++at)
    tokens += std::stoll((*at)[1]);
  EXPECT_EQ(tokens, std::stoll(found[1])) << "the two batches of the first step";
}

TEST_F(Report, KeysThatAnOverrideLeavesWithoutEffectAreWarnedOf) {
  ASSERT_EQ(train({"--set", "output.folder=base", "--set", "training.max_steps=2"}).exit_code, 0);
  const ProgramResult result = train({"--set", "model.from=base", "--set", "training.max_steps=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(
      result.err.find("run.toml:11: 'model.hidden_size' has no effect: the configuration of 'model.from'"),
      std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace regard::train
