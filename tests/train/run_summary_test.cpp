// `regard runs` and `regard prune` on runs in every state.
#include "train/run_summary.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "run_case.h"
#include "support/throws.h"

namespace regard::train {
namespace {

class Runs : public RunCase {
 protected:
  // Train 6 steps with a checkpoint at every second step, and keep all checkpoints.
  void train_run(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> options{"-q",
                                     "--set",
                                     "output.folder=" + name,
                                     "--set",
                                     "training.max_steps=6",
                                     "--set",
                                     "output.checkpoint_every_steps=2",
                                     "--set",
                                     "output.keep=10"};
    options.insert(options.end(), more.begin(), more.end());
    const ProgramResult result = train(options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, folder.path());
  }
  std::vector<Json> listed(const std::string& below) {
    const ProgramResult result = run({"runs", below, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<Json> runs;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) runs.push_back(Json::parse(line));
    return runs;
  }
};

TEST_F(Runs, WithoutALimitOfStepsAreFinishedByEpochs) {
  train_run("epochs", {"--set", "training.max_steps=0", "--set", "training.max_epochs=0.5", "--set",
                       "training.schedule=constant"});
  EXPECT_EQ(listed("epochs").at(0)["state"], "finished");
  std::string text = file_content(folder / "epochs/run.toml");
  const std::string limit = "max_epochs = 0.5";
  ASSERT_NE(text.find(limit), std::string::npos) << text;
  write_file_atomically(folder / "epochs/run.toml",
                        text.replace(text.find(limit), limit.size(), "max_epochs = 9.0"));
  EXPECT_EQ(listed("epochs").at(0)["state"], "stopped");
}

TEST_F(Runs, TheFinalAverageIsNoStep) {
  train_run("mean", {"--set", "validation.every_steps=3", "--set", "training.average_last=2"});
  ASSERT_TRUE(fs::exists(folder / "mean/checkpoints/7"));
  EXPECT_EQ(listed("mean").at(0)["step"], 6);
  EXPECT_EQ(listed("mean").at(0)["state"], "finished");
}

TEST_F(Runs, AreListedWithTheirState) {
  train_run("all/finished");
  train_run("all/more/stopped");
  const fs::path stopped = folder / "all/more/stopped/run.toml";
  std::string text = file_content(stopped);
  text.replace(text.find("max_steps = 6"), 13, "max_steps = 9");
  write_file_atomically(stopped, text);
  fs::copy(folder / "all/finished", folder / "all/damaged", fs::copy_options::recursive);
  write_file_atomically(folder / "all/damaged/checkpoints/6/state.json", "{");
  fs::create_directories(folder / "all/empty/checkpoints");
  fs::copy(folder / "all/finished/run.toml", folder / "all/empty/run.toml");
  fs::create_directory_symlink(folder / "all", folder / "all/loop");
  fs::create_symlink("run.toml", folder / "all/finished/link");

  const std::vector<Json> runs = listed("all");
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0]["run"], "all/damaged");
  EXPECT_EQ(runs[0]["state"], "damaged");
  EXPECT_NE(runs[0]["problem"].get<std::string>().find("state.json"), std::string::npos);
  EXPECT_EQ(runs[1]["state"], "empty");
  EXPECT_EQ(runs[2]["state"], "finished");
  EXPECT_EQ(runs[2]["step"], 6);
  EXPECT_EQ(runs[2]["task"], "translation");
  EXPECT_EQ(runs[2]["checkpoints"], 3);
  EXPECT_EQ(runs[3]["run"], "all/more/stopped");
  EXPECT_EQ(runs[3]["state"], "stopped");
  EXPECT_EQ(runs[3]["max_steps"], 9);

  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "all/finished"))
    if (entry.is_regular_file() && !entry.is_symlink()) bytes += entry.file_size();
  EXPECT_EQ(runs[2]["bytes"], bytes);

  const ProgramResult table = run({"runs", "all"});
  EXPECT_NE(table.out.find("6/9"), std::string::npos) << table.out;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 5);
}

TEST_F(Runs, ARunThatIsWrittenIsRunningAndIsNotPruned) {
  train_run("out");
  const FolderLock lock(folder / "out");
  const RunSummary summary = summarize_run(folder / "out");
  EXPECT_EQ(summary.progress, RunProgress::running);
  EXPECT_EQ(summary.process, getpid());
  const ProgramResult result = run({"prune", "out"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find(std::to_string(getpid())), std::string::npos) << result.err;
  EXPECT_EQ(summarize_run(folder / "out").checkpoints, 3);
}

TEST_F(Runs, PruneKeepsTheLatestAndTheBest) {
  train_run("out", {"--set", "validation.every_steps=2", "--set", "training.average_last=0"});
  const std::int64_t best = linked("out", "best");
  const std::string weights_before = weights("out"), best_before = weights("out", "best");
  const ProgramResult result = run({"prune", "out", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json pruned = Json::parse(result.out);
  EXPECT_EQ(pruned["before"], Json({2, 4, 6}));
  EXPECT_EQ(pruned["kept"], best == 6 ? Json({6}) : Json({best, 6}));
  EXPECT_GT(pruned["freed"], 0);
  EXPECT_EQ(weights("out"), weights_before);
  EXPECT_EQ(weights("out", "best"), best_before);
  EXPECT_EQ(summarize_run(folder / "out").checkpoints, best == 6 ? 1 : 2);
  // A second prune removes nothing.
  EXPECT_NE(run({"prune", "out"}).out.find("removed 0 of"), std::string::npos);
}

TEST_F(Runs, ARunWithAFinalAverageCanBeResumedAfterPruning) {
  train_run("mean", {"--set", "validation.every_steps=3", "--set", "training.average_last=2"});
  // Change state.json so that the averaged checkpoint is the best.
  const fs::path checkpoint = folder / "mean/checkpoints/7";
  Json state = read_json((checkpoint / "state.json").string());
  Json manifest = read_json((checkpoint / "manifest.json").string());
  state["best_step"] = 7;
  const std::string text = state.dump();
  manifest["files"]["state.json"] = {{"size", text.size()}, {"xxh3", hex(xxh3(text))}};
  write_file_atomically(checkpoint / "state.json", text);
  write_file_atomically(checkpoint / "manifest.json", manifest.dump());
  switch_link(folder / "mean/best", "checkpoints/7");
  ASSERT_EQ(run({"prune", "mean"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "mean/checkpoints/6"));
  EXPECT_FALSE(fs::exists(folder / "mean/checkpoints/4"));
  const ProgramResult resumed = run({"train", "--resume", "mean", "-q", "--set", "training.max_steps=8"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Runs, WrongFoldersAreRefused) {
  EXPECT_EQ(run({"runs", "missing"}).exit_code, 4);
  EXPECT_EQ(run({"prune", "."}).exit_code, 2);
  EXPECT_EQ(run({"prune", "run.toml"}).exit_code, 2);
  fs::create_directory(folder / "nothing");
  const ProgramResult none = run({"runs", "nothing"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("no runs in nothing"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace regard::train
