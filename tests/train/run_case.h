// Fixture: a folder with a run file and its corpora, and calls of the program that train there.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "tiny_task.h"

namespace regard::train {

namespace fs = std::filesystem;
using regard::testing::file_content;
using regard::testing::ProgramResult;
using regard::testing::run_program;

class RunCase : public ::testing::Test {
 protected:
  RunCase() { testing_task::write_run(folder.path()); }

  ProgramResult train(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"train", "run.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, folder.path());
  }
  // Start a training run and send it `signal` after the time `after`. Return its exit code.
  int train_and_signal(const std::vector<std::string>& more, int signal, std::chrono::microseconds after) {
    std::vector<std::string> arguments{"train", "run.toml", "-q"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return regard::testing::run_interrupted(arguments, folder.path(), {signal, after}).exit_code;
  }
  // Start the program, wait until `file` has grown, wait another 300 ms, and send `signal`. Return the exit
  // code, or −signal if a signal ended the program.
  int train_until(const std::vector<std::string>& more, const fs::path& file, int signal) {
    std::error_code ignored;
    const std::uintmax_t before = fs::exists(folder / file) ? fs::file_size(folder / file) : 0;
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::string> arguments{"train", "run.toml", "-q"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      regard::testing::exec_program(arguments, folder.path());
    }
    int status = 0;
    for (int i = 0; i < 6000 && !(fs::file_size(folder / file, ignored) > before && !ignored); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, signal);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string weights(const std::string& run, const std::string& checkpoint = "latest") {
    return file_content(folder / run / checkpoint / "model.safetensors");
  }
  Json state(const std::string& run, const std::string& checkpoint = "latest") {
    return Json::parse(file_content(folder / run / checkpoint / "state.json"));
  }
  std::int64_t linked(const std::string& run, const std::string& link) {
    return std::stoll(fs::read_symlink(folder / run / link).filename().string());
  }
  std::vector<Json> log(const std::string& run) {
    std::istringstream lines(file_content(folder / run / "log.jsonl"));
    std::vector<Json> objects;
    for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
    return objects;
  }
  Json last_validation(const std::string& run) {
    Json last;
    for (const Json& line : log(run))
      if (line.contains("validation")) last = line["validation"];
    return last;
  }
  // Write second.tsv: the rows of train.tsv, each with the text of the next row. Expect that a run of both
  // tables has the weights of a run of train.tsv only if second.tsv has weight 0.
  void expect_weighted_tables(const std::vector<std::string>& settings) {
    std::vector<std::string> paths, texts;
    std::istringstream rows(file_content(folder / "train.tsv"));
    for (std::string row; std::getline(rows, row);) {
      paths.push_back(row.substr(0, row.find('\t')));
      texts.push_back(row.substr(row.find('\t')));
    }
    std::string second;
    for (std::size_t i = 0; i < paths.size(); ++i) second += paths[i] + texts[(i + 1) % texts.size()] + "\n";
    regard::testing::write_file(folder.path(), "second.tsv", second);
    const auto trained = [&](const std::string& name, const std::vector<std::string>& data) {
      std::vector<std::string> arguments{"-q", "--set", "output.folder=" + name};
      for (const auto* list : {&settings, &data})
        for (const std::string& setting : *list) arguments.insert(arguments.end(), {"--set", setting});
      const ProgramResult result = train(arguments);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return weights(name);
    };
    const std::string both = "data.train=[\"train.tsv\", \"second.tsv\"]";
    const std::string only = trained("only", {});
    EXPECT_TRUE(trained("first", {both, "data.weights=[1, 0]"}) == only);
    EXPECT_FALSE(trained("last", {both, "data.weights=[0, 1]"}) == only);
    const std::string without = trained("both", {both});
    EXPECT_TRUE(trained("equal", {both, "data.weights=[1, 1]"}) == without);
    EXPECT_FALSE(without == only);
  }
  // Expect that the last validation has a confusion matrix of the model's labels, whose diagonal contains the
  // fraction "accuracy" of the examples.
  void expect_confusion(const std::string& run) {
    const Json validation = last_validation(run);
    const Json names = read_json((folder / run / "latest/config.json").string())["id2label"];
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < names.size(); ++i) labels.push_back(names[std::to_string(i)]);
    ASSERT_TRUE(validation.contains("confusion")) << validation;
    EXPECT_EQ(validation["confusion"]["labels"], labels);
    const Json& counts = validation["confusion"]["counts"];
    ASSERT_EQ(counts.size(), labels.size());
    std::int64_t right = 0, all = 0;
    for (std::size_t i = 0; i < labels.size(); ++i)
      for (std::size_t j = 0; j < labels.size(); ++j) {
        const auto count = counts.at(i).at(j).get<std::int64_t>();
        all += count, right += i == j ? count : 0;
      }
    ASSERT_GT(all, 0);
    EXPECT_DOUBLE_EQ(static_cast<double>(right) / static_cast<double>(all), validation["accuracy"]);
  }
  // Train with 1, 2 and 3 threads, and once with a kill and a resume. Expect the same weights.
  void expect_same_bits_for_threads_and_after_a_kill() {
    for (const char* threads : {"1", "2", "3"})
      ASSERT_EQ(train({"-t", threads, "--set", std::string("output.folder=") + threads}).exit_code, 0);
    EXPECT_EQ(weights("1"), weights("2"));
    EXPECT_EQ(weights("1"), weights("3"));
    const std::vector<std::string> often{"--set", "output.checkpoint_every_steps=7"};
    const int code = train_until(often, "run/log.jsonl", SIGKILL);
    EXPECT_TRUE(code == -SIGKILL || code == 0) << code;
    std::vector<std::string> again = often;
    again.push_back("--resume");
    ASSERT_EQ(train(again).exit_code, 0);
    EXPECT_EQ(weights("1"), weights("run"));
  }
  regard::testing::TemporaryFolder folder;
};

}  // namespace regard::train
